// Tests of documents, examples and helper programs read them where they stand.
#pragma once

#include <string>

namespace rdmanet::test {

/// The path of a file of the source tree.
[[nodiscard]] std::string source_path(const std::string& file);

} // namespace rdmanet::test
