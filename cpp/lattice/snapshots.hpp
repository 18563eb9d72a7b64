// Saved rows for the backward pass.  It removes potentials from the rows in the reverse of the
// order in which the forward pass adds them.  Subtraction would lose digits and could not undo
// -inf, so earlier versions of the rows are saved and restored.
#pragma once

#include "base/workspace.hpp"
#include "lattice/rows.hpp"

namespace caesura::CAESURA_ISA {

// The rows of Active to restore as e decreases: a stack for each live start.
struct Snapshots {
  struct Saved {
    Saved* next;
    bool has_own;
    double* rows;  // [2][stride] shared, own
  };
  const Lattice& g;
  Workspace& work;
  Saved** top;  // [ring]
  Saved* unused = nullptr;
  int mask;

  Snapshots(const Lattice& lattice, int ring, Workspace& memory)
      : g(lattice), work(memory), mask(ring - 1) {
    top = reinterpret_cast<Saved**>(work.doubles(ring));
    for (int i = 0; i < ring; ++i) top[i] = nullptr;
  }
  void save(const Active& active, int a) {
    Saved* saved = unused;
    if (saved != nullptr) {
      unused = saved->next;
    } else {
      saved = reinterpret_cast<Saved*>(work.doubles(sizeof(Saved) / sizeof(double) + 1));
      saved->rows = work.doubles(static_cast<std::size_t>(2) * g.stride);
    }
    saved->has_own = active.owns(a);
    copy(saved->rows, active.shared_row(a), g.stride);
    if (saved->has_own) copy(saved->rows + g.stride, active.own_row(a), g.stride);
    saved->next = top[a & mask];
    top[a & mask] = saved;
  }
  void restore(const Active& active, int a) {
    Saved* saved = top[a & mask];
    if (saved == nullptr) return;
    copy(active.shared_row(a), saved->rows, g.stride);
    active.owns(a) = saved->has_own;
    if (saved->has_own) copy(active.own_row(a), saved->rows + g.stride, g.stride);
    top[a & mask] = saved->next;
    saved->next = unused;
    unused = saved;
  }
};

}  // namespace caesura::CAESURA_ISA
