// What one process learns about an etcd cluster, and the next one need not ask again. A file that only its owner can
// read, because of the token. Whatever is in it may be out of date: etcd refuses what is.
#pragma once

#include <cstdint>
#include <string>

namespace rdmanet::etcd {

class Memory {
public:
    /// Reads the file. One that is absent or can't be read is an empty memory. Without a path nothing is kept.
    explicit Memory(std::string path = {});

    /// Writes it, if it has changed. A file that can't be written costs the next process a request, and is no error.
    void save();

    std::string token;              // of the last login
    std::string endpoint;           // the last one that answered
    std::string node;               // which node and boot, for its revision
    std::int64_t node_revision = 0; // of the node's key; 0: not known

private:
    [[nodiscard]] std::string to_text() const;

    std::string path_;
    std::string saved_;
};

} // namespace rdmanet::etcd
