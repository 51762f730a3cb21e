#include <rdmanet/base/rollback.hpp>

#include <exception>

namespace rdmanet::base {

Rollback::~Rollback() {
    for (auto undo = undos_.rbegin(); undo != undos_.rend(); ++undo) {
        try {
            try {
                undo->second();
            } catch (const std::exception& error) {
                on_undo_failure_(undo->first, error.what());
            }
        } catch (...) { // no memory to report it: the other undos still run
        }
    }
}

} // namespace rdmanet::base
