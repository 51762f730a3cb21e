// Messages that say they come from the kubelet: whatever they are, they are refused or understood.
#include "demand.hpp"

#include "answers.hpp"
#include "protobuf.hpp"

#include <rdmanet/base/text.hpp>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

/// Every text stands in the message.
void check(const std::string& text, std::string_view message) {
    demand(base::is_printable_utf8(text), "a text that is not printable");
    demand(message.find(text) != std::string_view::npos, "a text that the message does not have");
}

void check(const podresources::Devices& devices, std::string_view message) {
    check(devices.resource, message);
    for (const std::string& id : devices.ids) check(id, message);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view message = as_text(data, size);
    try {
        for (const podresources::Devices& each : podresources::parse_allocatable(message)) check(each, message);
    } catch (const podresources::MessageError&) { // refused
    }
    try {
        for (const podresources::Pod& pod : podresources::parse_pods(message)) {
            check(pod.name, message);
            check(pod.name_space, message);
            for (const podresources::Devices& each : pod.devices) check(each, message);
        }
    } catch (const podresources::MessageError&) { // refused
    }
    return 0;
}
