// Held while a store's file is read and replaced. A lock of the file itself would be of the one that is replaced.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <string>

namespace rdmanet::ipam {

/// flock(2) on the directory itself: leaves no file behind, and ends with its holder.
class DirectoryLock {
public:
    /// Throws TimeoutError, SystemError.
    DirectoryLock(const std::string& directory, const base::Deadline& deadline);

private:
    void lock(const std::string& directory, const base::Deadline& deadline);

    base::UniqueFd fd_;
};

} // namespace rdmanet::ipam
