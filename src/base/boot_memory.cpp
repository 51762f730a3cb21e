#include <rdmanet/base/boot_memory.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>

#include <unistd.h>

namespace rdmanet::base {
namespace {

constexpr std::size_t kLongest = 64 << 10U;

} // namespace

BootMemory::BootMemory(std::string_view state_directory, std::string_view boot_id, std::string_view kind,
                       std::string_view question)
    : path_(fmt::format("{}/{}-{:016x}", state_directory, kind, hash64(question))),
      head_(fmt::format("{}\n", boot_id)) {}

std::optional<std::string> BootMemory::find() const try {
    const auto file = read_regular_file_if_exists(path_, kLongest);
    return file && file->starts_with(head_) ? std::optional(file->substr(head_.size())) : std::nullopt;
} catch (const Error&) {
    return std::nullopt;
}

void BootMemory::note(std::string_view answer) const try {
    write_file_durably(path_, fmt::format("{}{}", head_, answer));
} catch (const Error&) { // whoever asks next finds it out again
}

void BootMemory::forget() const {
    (void)::unlink(path_.c_str());
}

void BootMemory::note_time(std::int64_t now) const {
    note(fmt::format("{}", now));
}

bool BootMemory::was_noted_within(std::chrono::seconds time, std::int64_t now) const {
    const auto since = parse_integer<std::int64_t>(find().value_or(""));
    return since && *since <= now && now - *since < time.count();
}

} // namespace rdmanet::base
