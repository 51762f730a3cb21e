#include "recall.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/process.hpp>
#include <rdmanet/cni/error.hpp>

#include <optional>
#include <string>

namespace rdmanet::attach {
namespace {

/// Commit and recall hold the lock only for moments.
constexpr std::chrono::seconds kShort{5};

/// Identifies one process of one boot.
std::string name_of(const base::ProcessIdentity& process, const Node& node) {
    return fmt::format("{} {} {} {}\n", process.pid, process.start_ticks, process.pid_namespace_inode, node.boot_id);
}

/// too_late: no ADD is running, or it has committed and releases the lock in a moment.
enum class Recall : std::uint8_t { done, too_late, impossible };

Recall recall_add(const Call& call) try {
    const state::AttachmentKey& key = call.key;
    const state::AttachmentStore& records = call.records;
    const base::FileLock commit_lock = records.lock_commit(key, base::Deadline::in(kShort));
    const auto pid = records.find_add(key);
    if (!pid) return Recall::too_late;
    const auto process = *pid == 0 ? std::nullopt : base::identify_process(std::to_string(*pid));
    if (!process) return Recall::impossible;
    if (records.find_add(key) != pid) return Recall::too_late; // another process may have the number by now
    records.save_recall(key, name_of(*process, call.node));
    return Recall::done;
} catch (const base::Error& error) { // DEL's own error says that it could not get the lock
    call.log.error(fmt::format("the running ADD could not be told to undo itself: {}", error.what()));
    return Recall::impossible;
}

} // namespace

void commit(state::AttachmentRecord& record, base::FileLock& lock, const Call& call) {
    const state::AttachmentStore& records = call.records;
    const base::FileLock commit_lock = records.lock_commit(record.key, call.deadline.at_most(kShort));
    if (const auto recalled = records.find_recall(record.key)) {
        records.remove_recall(record.key);
        const auto self = base::identify_process("self");
        if (!self || *recalled == name_of(*self, call.node))
            throw cni::CniError(
                cni::ErrorCode::try_again_later,
                fmt::format("a DEL of the attachment ({}) came before this ADD ended, so the ADD was undone",
                            record.key));
    }
    record.phase = state::Phase::attached;
    records.save(record);
    records.show_committed(record.key, lock);
}

base::FileLock lock_or_recall(const Call& call, std::chrono::milliseconds patience) {
    try {
        return call.records.lock(call.key, call.deadline.at_most(patience));
    } catch (base::TimeoutError& error) {
        switch (recall_add(call)) {
        case Recall::done: error.add_context("the running ADD was told to undo itself"); throw;
        case Recall::impossible: throw;
        case Recall::too_late: break;
        }
    }
    return call.records.lock(call.key, call.deadline);
}

void forget_void_recalls(const Call& call) {
    const state::AttachmentStore& records = call.records;
    for (const state::AttachmentKey& key : records.list_recalled()) {
        const base::FileLock commit_lock = records.lock_commit(key, call.deadline.at_most(kShort));
        const auto pid = records.find_add(key);
        const auto process = pid && *pid != 0 ? base::identify_process(std::to_string(*pid)) : std::nullopt;
        const bool may_be_meant = pid && (!process || records.find_recall(key) == name_of(*process, call.node));
        if (!may_be_meant) records.remove_recall(key);
    }
}

} // namespace rdmanet::attach
