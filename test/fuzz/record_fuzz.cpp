// Attachment records: a record that was read is written with the same values, and has the same meaning when it is
// read again.
#include "demand.hpp"

#include <rdmanet/state/attachment_record.hpp>

#include <optional>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

state::AttachmentRecord parse(std::string_view text) {
    return state::AttachmentRecord::parse(text);
}

std::optional<state::AttachmentRecord> parse_unless_refused(std::string_view text) {
    try {
        return parse(text);
    } catch (const json::ParseError&) {
        return std::nullopt;
    } catch (const json::ValueError&) {
        return std::nullopt;
    }
}

/// Everything in `written` must be in `read`. Unknown keys of `read` may be missing.
void demand_from(const json::Reader& read, const json::Reader& written) {
    if (written.is_object()) {
        for (const auto& [key, value] : written.members()) demand_from(read.at(key), value);
        return;
    }
    if (!written.is_array()) {
        demand(read.to_text() == written.to_text(), "written otherwise than read: " + written.path());
        return;
    }
    const auto before = read.elements();
    const auto after = written.elements();
    demand(before.size() == after.size(), "an element was lost or invented: " + written.path());
    for (std::size_t at = 0; at < before.size(); ++at) demand_from(before[at], after[at]);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text = as_text(data, size);
    const auto record = parse_unless_refused(text);
    if (!record) return 0;
    const std::string written = record->to_text();
    demand_from(json::Document::parse(text).root(), json::Document::parse(written).root());
    const auto again = parse(written);
    demand(again.to_text() == written, "written again, it is another record");
    demand(again.key == record->key, "the record of another attachment");
    demand(again.topics() == record->topics(), "its steps hold something else");
    return 0;
}
