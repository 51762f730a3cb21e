// Settings of a VF as members of an object in a record: those that a PF changed, and those that CHECK compares.
#pragma once

#include <rdmanet/base/vf_settings.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

namespace rdmanet::state {

using base::VfSettings;

/// Members of the object that is being written.
void write_settings(json::Writer& writer, const VfSettings& settings);
/// Throws json::ValueError for anything that write_settings() would not have written.
[[nodiscard]] VfSettings parse_settings(const json::Reader& reader);

} // namespace rdmanet::state
