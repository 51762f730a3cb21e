#include "model/fibers.hpp"

#include <cstddef>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || __has_include(<sanitizer/common_interface_defs.h>)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RDMANET_FIBER_SANITIZED
#endif
#endif

namespace rdmanet::model {
namespace {

constexpr std::size_t kStack = 1 << 20U;

Fiber* current = nullptr;

#ifdef RDMANET_FIBER_SANITIZED
const void* back_stack = nullptr;
std::size_t back_size = 0;
#endif

} // namespace

Fiber::Fiber() : stack_(kStack) {}

void Fiber::begin(std::function<void()> call) {
    call_ = std::move(call);
    is_running_ = true;
    (void)::getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.data();
    context_.uc_stack.ss_size = stack_.size();
    context_.uc_link = &back_;
    ::makecontext(&context_, &Fiber::run, 0);
}

void Fiber::go_on() {
    current = this;
#ifdef RDMANET_FIBER_SANITIZED
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, stack_.data(), stack_.size());
    (void)::swapcontext(&back_, &context_);
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
    (void)::swapcontext(&back_, &context_);
#endif
    current = nullptr;
}

void Fiber::pause() {
    Fiber* const self = current;
#ifdef RDMANET_FIBER_SANITIZED
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, back_stack, back_size);
    (void)::swapcontext(&self->context_, &self->back_);
    __sanitizer_finish_switch_fiber(fake, &back_stack, &back_size);
#else
    (void)::swapcontext(&self->context_, &self->back_);
#endif
}

void Fiber::run() {
#ifdef RDMANET_FIBER_SANITIZED
    __sanitizer_finish_switch_fiber(nullptr, &back_stack, &back_size);
#endif
    Fiber* const self = current;
    self->call_();
    self->is_running_ = false;
#ifdef RDMANET_FIBER_SANITIZED
    __sanitizer_start_switch_fiber(nullptr, back_stack, back_size);
#endif
}

} // namespace rdmanet::model
