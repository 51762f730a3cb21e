// The build identifier that the linker writes into a kernel module.
#pragma once

#include <optional>
#include <string>

namespace rdmanet::doctor {

/// The section .note.gnu.build-id of a 64-bit ELF file of this machine's byte order, as it is in the file. The kernel
/// shows the same bytes of a running module (add_notes_attrs(), kernel/module/sysfs.c). nullopt if the file is absent,
/// compressed or another kind of file, or has no such section. At most 4 KiB of it are read.
[[nodiscard]] std::optional<std::string> build_id_in(const std::string& file);

} // namespace rdmanet::doctor
