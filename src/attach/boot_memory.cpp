#include "boot_memory.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>

#include <unistd.h>

namespace rdmanet::attach {
namespace {

constexpr std::size_t kLongest = 64 << 10U;

} // namespace

BootMemory::BootMemory(const Node& node, std::string_view kind, std::string_view question)
    : path_(fmt::format("{}/{}-{:016x}", node.state_directory, kind, base::hash64(question))),
      head_(node.boot_id + '\n') {}

std::optional<std::string> BootMemory::find() const try {
    const auto file = base::read_regular_file_if_exists(path_, kLongest);
    return file && file->starts_with(head_) ? std::optional(file->substr(head_.size())) : std::nullopt;
} catch (const base::Error&) {
    return std::nullopt;
}

void BootMemory::note(std::string_view answer) const try {
    base::write_file_durably(path_, fmt::format("{}{}", head_, answer));
} catch (const base::Error&) { // whoever asks next finds it out again
}

void BootMemory::forget() const {
    (void)::unlink(path_.c_str());
}

} // namespace rdmanet::attach
