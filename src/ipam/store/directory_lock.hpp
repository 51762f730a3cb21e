// Held while a store's file is put in place or moved away, which no lock inside of the file can guard.
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
    base::UniqueFd fd_;
};

} // namespace rdmanet::ipam
