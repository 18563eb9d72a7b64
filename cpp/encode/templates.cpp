// What follows from the templates of an Extractor alone: the rows that they fire on, the planes and
// word tables of a model, and how each is looked up in a batch.
#include <algorithm>

#include "encode/corpus.hpp"
#include "lattice/lattice.hpp"

namespace caesura {

Extractor::Extractor(std::vector<Template> templates)
    : attributes(templates), templates_(std::move(templates)) {
  constexpr std::uint8_t kBoth = kOpenStart | kOpenEnd;
  forms_.push_back({0, 1, kBoth, {}});
  for (int k = 0; k < static_cast<int>(templates_.size()); ++k) {
    int low = 0, high = 1;
    for (const Part& part : templates_[k].parts) {
      low = std::min(low, part.offset);
      high = std::max(high, part.offset + 1);
    }
    if (templates_[k].parts.empty()) continue;
    switch (templates_[k].place) {
      case Place::kToken:
        add_form(0, 1, kBoth, k, 1.0);
        break;
      case Place::kWithin:
        add_form(low, high, kBoth, k, 1.0);
        break;
      case Place::kFirst:
        add_form(0, high, kOpenEnd, k, 1.0);
        break;
      case Place::kLast:
        add_form(low, 1, kOpenStart, k, 1.0);
        break;
      case Place::kSingle:
        add_form(0, 1, 0, k, 1.0);
        break;
      case Place::kBegin:  // first but not single
        add_form(0, 1, kOpenEnd, k, 1.0);
        add_form(0, 1, 0, k, -1.0);
        break;
      case Place::kEnd:
        add_form(0, 1, kOpenStart, k, 1.0);
        add_form(0, 1, 0, k, -1.0);
        break;
      case Place::kInside:  // neither first nor last
        add_form(0, 1, kBoth, k, 1.0);
        add_form(0, 1, kOpenEnd, k, -1.0);
        add_form(0, 1, kOpenStart, k, -1.0);
        add_form(0, 1, 0, k, 1.0);
        break;
      case Place::kEdge:
        edges_.push_back(k);
        break;
    }
  }
  has_edges_ = !edges_.empty();
}

void Extractor::add_form(int low, int high, std::uint8_t flags, int source, double sign) {
  for (Form& form : forms_) {
    if (form.low == low && form.high == high && form.flags == flags) {
      form.templates.emplace_back(source, sign);
      return;
    }
  }
  forms_.push_back({low, high, flags, {{source, sign}}});
}

Planes Extractor::planes() {
  Planes out;
  out.n_attributes = attributes.size();
  if (std::any_of(templates_.begin(), templates_.end(),
                  [](const Template& one) { return one.order > 0; })) {
    for (const std::int32_t k : attributes.sources())
      out.order.push_back(static_cast<std::uint8_t>(templates_[k].order));
  }
  std::vector<int> token(templates_.size(), -1), plane(templates_.size(), 0);  // of each template
  for (const Form& form : forms_) {
    if (form.low != 0 || form.high != 1 || form.flags == (kOpenStart | kOpenEnd)) continue;
    bool any = false;
    std::vector<bool> taken(templates_.size(), false);
    for (const auto& [k, sign] : form.templates) {
      const Place place = templates_[k].place;
      if (place != Place::kFirst && place != Place::kLast && place != Place::kSingle) continue;
      if (templates_[k].order > 0) continue;
      for (const auto& [other, same] : forms_[0].templates) {
        if (templates_[other].order > 0) continue;
        if (templates_[other].place != Place::kToken ||
            templates_[other].parts != templates_[k].parts)
          continue;
        if (taken[other]) continue;
        taken[other] = any = true;
        token[k] = other;
        plane[k] = out.count;
        break;
      }
    }
    if (any) out.flags[out.count++] = form.flags;
  }
  if (out.count == 1) return out;
  out.base.resize(out.n_attributes);
  out.plane.assign(out.n_attributes, 0);
  for (std::int32_t a = 0; a < out.n_attributes; ++a) {
    out.base[a] = a;
    const int k = attributes.sources()[a];
    if (token[k] < 0) continue;
    const std::int64_t first = attributes.ptr()[a], last = attributes.ptr()[a + 1];
    const std::int32_t base = attributes.id(token[k], attributes.values().data() + first,
                                            static_cast<int>(last - first), false);
    if (base == Attributes::kMissing) continue;
    out.base[a] = base;
    out.plane[a] = static_cast<std::uint8_t>(plane[k]);
  }
  return out;
}

WordTable Extractor::word_table(const std::vector<std::uint8_t>& of_words) const {
  WordTable table;
  table.by_form.resize(forms_.size());
  table.covered.assign(templates_.size(), 0);
  for (std::size_t form = 0; form < forms_.size(); ++form) {
    for (const auto& [k, sign] : forms_[form].templates) {
      const Template& one = templates_[k];
      if (one.parts.size() != 1 || one.order > 0 || !of_words[one.parts[0].column]) continue;
      table.covered[k] = 1;
      const int offset = one.parts[0].offset;
      auto same = [&](int slot) { return table.slots[slot].offset == offset; };
      std::vector<int>& slots = table.by_form[form];
      auto found = std::find_if(slots.begin(), slots.end(), same);
      if (found == slots.end()) {
        table.slots.push_back({static_cast<int>(form), offset, {}});
        found = slots.insert(slots.end(), static_cast<int>(table.slots.size()) - 1);
      }
      table.slots[*found].templates.emplace_back(k, sign);
    }
  }
  auto is_rest = [&](int k) { return !table.covered[k]; };
  for (int k = 0; k < n_templates(); ++k) {
    if (is_rest(k) && !templates_[k].parts.empty()) table.rest.push_back(k);
  }
  for (const Form& form : forms_) {
    table.rest_of_form.emplace_back();
    for (const auto& one : form.templates) {
      if (is_rest(one.first)) table.rest_of_form.back().push_back(one);
    }
  }
  return table;
}

// Marks the families all of whose columns have one value for each token.
std::vector<std::uint8_t> Extractor::joint_families(const std::vector<Column>& columns,
                                                    const std::vector<int>& sources) const {
  std::vector<std::uint8_t> out(attributes.families().size(), 0);
  auto is_single = [&](const Part& part) {
    const Column& column = columns[part.column];
    return column.ids != nullptr && column.ptr == nullptr && column.values == nullptr;
  };
  for (const int k : sources) {
    const int family = attributes.member(k).family;
    if (family < 0) continue;
    const std::vector<Part>& parts = attributes.families()[family].parts;
    out[family] = std::all_of(parts.begin(), parts.end(), is_single);
  }
  return out;
}

// Decides how each template is looked up.  Attributes are read from a table or from the entries of
// a family only if none are added.
std::vector<Extractor::Look> Extractor::looks(const std::vector<Column>& columns,
                                              const std::vector<int>& sources,
                                              const std::vector<std::uint8_t>& joint,
                                              bool grow) const {
  std::vector<Look> out;
  for (const int k : sources) {
    Look look;
    look.source = k;
    look.member = attributes.member(k);
    const std::vector<Part>& parts = templates_[k].parts;
    if (look.member.family >= 0 && joint[look.member.family]) {
      look.kind = Look::kEntry;
      look.offset = look.member.offset - attributes.families()[look.member.family].low;
    } else if (!grow && parts.size() == 1 && columns[parts[0].column].ptr == nullptr &&
               columns[parts[0].column].values == nullptr) {
      const std::vector<std::int32_t>& known = attributes.of_values(k);
      look.kind = Look::kPlain;
      look.offset = parts[0].offset;
      look.ids = columns[parts[0].column].ids;
      look.known = known.data();
      look.n_known = static_cast<std::int32_t>(known.size());
    }
    out.push_back(look);
  }
  return out;
}

}  // namespace caesura
