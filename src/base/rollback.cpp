#include <rdmanet/base/rollback.hpp>

#include <exception>

namespace rdmanet::base {

Rollback::~Rollback() {
    for (auto undo = undos_.rbegin(); undo != undos_.rend(); ++undo) {
        try {
            undo->second();
        } catch (const std::exception& error) {
            on_undo_failure_(undo->first, error.what());
        }
    }
}

} // namespace rdmanet::base
