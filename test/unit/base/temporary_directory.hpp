// The directory of a test, by the name that most tests use.
#pragma once

#include "support/directory.hpp"

namespace rdmanet::base {

using TemporaryDirectory = test::Directory;

} // namespace rdmanet::base
