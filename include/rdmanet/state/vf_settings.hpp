// Reads and writes VF settings in a record: those that ADD changed, and those that CHECK compares.
#pragma once

#include <rdmanet/base/vf_settings.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

namespace rdmanet::state {

using base::VfSettings;

/// Writes members of the current object.
void write_settings(json::Writer& writer, const VfSettings& settings);
/// Throws json::ValueError for members that write_settings() does not write.
[[nodiscard]] VfSettings parse_settings(const json::Reader& reader);

} // namespace rdmanet::state
