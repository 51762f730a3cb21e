#include "event_ring.hpp"

#include <rdmanet/base/error.hpp>

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rdmanet::test {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kRing = 1024 * kPage; // a power of two (perf_event_open(2), "MMAP layout")

perf_event_attr life() {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_DUMMY;
    attributes.comm = 1;
    attributes.comm_exec = 1;
    attributes.task = 1;
    attributes.context_switch = 1;
    return attributes;
}

/// What ends every record that is no sample (linux/perf_event.h, sample_id_all).
struct RecordEnd {
    std::uint32_t process;
    std::uint32_t thread;
    std::uint64_t nanoseconds;
    std::uint64_t id;
};

/// A sample with the fields that Event asks for.
struct Sample {
    std::uint64_t id;
    std::uint32_t process;
    std::uint32_t thread;
    std::uint64_t nanoseconds;
};

template <class Type>
Type copy_of(const char* bytes) {
    Type copy{};
    std::memcpy(&copy, bytes, sizeof copy);
    return copy;
}

} // namespace

Event::Event(int processor, perf_event_attr attributes) {
    attributes.size = sizeof attributes;
    attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER;
    attributes.sample_id_all = 1;
    fd_ = base::UniqueFd(
        static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, processor, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!fd_) throw base::SystemError("perf_event_open", errno);
}

std::uint64_t Event::id() const {
    std::uint64_t id = 0;
    if (::ioctl(fd_.get(), PERF_EVENT_IOC_ID, &id) != 0) throw base::SystemError("ask for an event's id", errno);
    return id;
}

EventRing::EventRing(int processor) : processor_(processor), life_(processor, life()) {
    memory_ = ::mmap(nullptr, kPage + kRing, PROT_READ | PROT_WRITE, MAP_SHARED, life_.fd(), 0);
    if (memory_ == MAP_FAILED) throw base::SystemError("map the ring of events", errno);
}

EventRing::~EventRing() {
    ::munmap(memory_, kPage + kRing);
}

void EventRing::add(const perf_event_attr& attributes, What what, std::size_t function) {
    const Event& event = *events_.emplace_back(std::make_unique<Event>(processor_, attributes));
    if (::ioctl(event.fd(), PERF_EVENT_IOC_SET_OUTPUT, life_.fd()) != 0)
        throw base::SystemError("join the ring of events", errno);
    meaning_[event.id()] = {.what = what, .nanoseconds = 0, .function = function};
}

std::vector<Moment> EventRing::take_moments_of(std::uint32_t process) {
    std::vector<Moment> moments;
    const std::uint64_t end = control()->data_head;
    for (std::uint64_t at = control()->data_tail; at < end;) {
        const std::vector<char> record = read(at);
        append(record, process, moments);
        at += record.size();
    }
    forget_all();
    return moments;
}

/// A record may begin at the end of the ring and go on at its start.
std::vector<char> EventRing::read(std::uint64_t at) const {
    const auto* data = static_cast<const char*>(memory_) + kPage;
    const auto header = copy_of<perf_event_header>(data + at % kRing); // records have multiples of 8 bytes
    std::vector<char> record(header.size);
    for (std::size_t i = 0; i < record.size(); ++i) record[i] = data[(at + i) % kRing];
    return record;
}

void EventRing::append(const std::vector<char>& record, std::uint32_t process, std::vector<Moment>& moments) const {
    const auto header = copy_of<perf_event_header>(record.data());
    if (header.type == PERF_RECORD_LOST) throw base::Error("the ring of events is too small");
    if (header.type == PERF_RECORD_SAMPLE) {
        const auto sample = copy_of<Sample>(record.data() + sizeof header);
        Moment moment = meaning_.at(sample.id);
        moment.nanoseconds = sample.nanoseconds;
        if (sample.process == process) moments.push_back(moment);
        return;
    }
    const auto end = copy_of<RecordEnd>(record.data() + record.size() - sizeof(RecordEnd));
    if (end.process != process) return;
    const auto add = [&](What what) { moments.push_back({.what = what, .nanoseconds = end.nanoseconds}); };
    if (header.type == PERF_RECORD_COMM && (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) add(What::exec);
    if (header.type == PERF_RECORD_EXIT) add(What::exit);
    if (header.type == PERF_RECORD_SWITCH || header.type == PERF_RECORD_SWITCH_CPU_WIDE)
        add((header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0 ? What::off_processor : What::on_processor);
}

} // namespace rdmanet::test
