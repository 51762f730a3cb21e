// What the files of the machine in memory share. Each file is about headers of module `kernel`.
#pragma once

#include "machine.hpp"

#include <rdmanet/base/format.hpp>

namespace rdmanet::kernel {
namespace fake {

[[nodiscard]] std::uint64_t number_of(int fd);
[[nodiscard]] base::UniqueFd copy_of(const base::UniqueFd& fd);
[[noreturn]] void refuse(std::string_view what, int why);
/// The function that a link is of, or whose link its parent is.
[[nodiscard]] std::string function_below(const Space& space, const Link& link);
[[nodiscard]] Function* find_function(const std::string& address);
[[nodiscard]] Netdev& need(Space& space, unsigned ifindex, std::string_view what);
/// As the texts of changes call it.
[[nodiscard]] std::string name_of(Space& space, unsigned ifindex);

template <class Value>
void assign(std::optional<Value>& to, const std::optional<Value>& from) {
    if (from) to = from;
}

} // namespace fake

using fake::assign;
using fake::find_function;
using fake::machine;
using fake::name_of;
using fake::need;
using fake::Netdev;
using fake::refuse;
using fake::Space;

} // namespace rdmanet::kernel
