// Errors that Python raises with the same fields.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace caesura {

// Thrown when a problem exceeds a limit; becomes caesura.errors.TooLarge.
struct TooLarge : std::runtime_error {
  std::string place, problem, expected, remedy;

  TooLarge(std::string place_, std::string problem_, std::string remedy_)
      : TooLarge(std::move(place_), std::move(problem_), {}, std::move(remedy_)) {}
  TooLarge(std::string place_, std::string problem_, std::string expected_, std::string remedy_)
      : std::runtime_error(place_ + ": " + problem_),
        place(std::move(place_)),
        problem(std::move(problem_)),
        expected(std::move(expected_)),
        remedy(std::move(remedy_)) {}
};

}  // namespace caesura
