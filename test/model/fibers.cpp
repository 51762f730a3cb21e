#include "model/fibers.hpp"

#include <cstddef>
#include <cxxabi.h>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace rdmanet::model {
namespace {

constexpr std::size_t kStack = 1 << 20U;

Process* running = nullptr;

// The address sanitizer must know on which stack we are.
#ifdef __SANITIZE_ADDRESS__
const void* back_stack = nullptr;
std::size_t back_size = 0;
void begin_switch(void** fake, const void* stack, std::size_t size) {
    __sanitizer_start_switch_fiber(fake, stack, size);
}
void end_switch(void* fake, const void** from, std::size_t* size) {
    __sanitizer_finish_switch_fiber(fake, from, size);
}
#else
constexpr const void* back_stack = nullptr;
constexpr std::size_t back_size = 0;
void begin_switch(void** /*fake*/, const void* /*stack*/, std::size_t /*size*/) {}
void end_switch(void* /*fake*/, const void* const* /*from*/, const std::size_t* /*size*/) {}
#endif

} // namespace

Process::Process() : stack_(new char[kStack]) {}

Process& Process::current() {
    return *running;
}

void Process::begin(std::function<void()> call) {
    call_ = std::move(call);
    is_running_ = true;
    is_dead_ = false;
    exceptions_ = {};
    (void)::getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = kStack;
    context_.uc_link = &back_;
    ::makecontext(&context_, &Process::run, 0);
}

void Process::go_on() {
    running = this;
    exchange_exceptions();
    void* fake = nullptr;
    begin_switch(&fake, stack_.get(), kStack);
    (void)::swapcontext(&back_, &context_);
    end_switch(fake, nullptr, nullptr);
    running = nullptr;
}

void Process::kill() {
    is_dead_ = true;
    while (is_running_) go_on();
}

void Process::pause() {
    Process* const self = running;
    if (self->is_dead_) throw Killed();
    self->exchange_exceptions();
    void* fake = nullptr;
    begin_switch(&fake, back_stack, back_size);
    (void)::swapcontext(&self->context_, &self->back_);
    end_switch(fake, &back_stack, &back_size);
    if (self->is_dead_) throw Killed();
}

void Process::die() {
    running->is_dead_ = true;
    throw Killed();
}

void Process::run() {
    end_switch(nullptr, &back_stack, &back_size);
    Process* const self = running;
    self->call_();
    self->is_running_ = false;
    self->exchange_exceptions();
    begin_switch(nullptr, back_stack, back_size);
}

/// Each side has its own (Itanium C++ ABI: Exception Handling, "Caught Exceptions Stack").
void Process::exchange_exceptions() {
    std::swap(reinterpret_cast<decltype(exceptions_)&>(*abi::__cxa_get_globals()), exceptions_);
}

} // namespace rdmanet::model
