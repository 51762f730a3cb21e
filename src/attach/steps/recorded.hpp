// Translates between a step as a value of its own type and the step in a record. Each such type has:
//
//   kKind                    its name in records (kinds.hpp)
//   parse(), write()         its members in JSON. Members that earlier versions did not write are optional.
//   holds()                  what it holds until it is undone
//   describe()               what is still held, for messages
//   by_hand()   (optional)   what a person does in place of revert(). Without it, the recorded values are all that is
//                            said. A command in it must be safe, and do what revert() does
//   revert()                 undoes a step that was applied, half applied or never begun. Safe to repeat. Throws if
//                            something is left.
//   kWaitsFor  (optional)    kinds of later steps that must be undone before it
//   kSpoiltBy  (optional)    kinds of later steps whose undo changes its result: it is then undone again
#pragma once

#include "step.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

template <class Value>
[[nodiscard]] state::Step to_record(const Value& value) {
    json::Writer writer;
    writer.begin_object().member("step", Value::kKind);
    value.write(writer);
    writer.end_object();
    return {.kind = std::string(Value::kKind), .json = writer.to_text(), .holds = value.holds()};
}

/// A step that is undone from a `Value`. Unless a class adds more, applying it does nothing: its place in the list only
/// decides when it is undone.
template <class Value>
class RecordedStep : public Step {
public:
    explicit RecordedStep(Value step) : step_(std::move(step)) {}

    [[nodiscard]] std::vector<state::Step> recorded() const override { return {to_record(step_)}; }

protected:
    Value step_;
};

/// nullopt for a step of another kind.
template <class Value>
[[nodiscard]] std::optional<Value> parse_if(const state::Step& step) {
    if (step.kind != Value::kKind) return std::nullopt;
    return Value::parse(json::Document::parse(step.json).root());
}

/// The first step of that kind.
template <class Value>
[[nodiscard]] std::optional<Value> find_step(const state::AttachmentRecord& record) {
    for (const state::Step& step : record.steps)
        if (auto value = parse_if<Value>(step)) return value;
    return std::nullopt;
}

/// All steps of that kind, in the order in which ADD applied them.
template <class Value>
[[nodiscard]] std::vector<Value> list_steps(const state::AttachmentRecord& record) {
    std::vector<Value> values;
    for (const state::Step& step : record.steps)
        if (auto value = parse_if<Value>(step)) values.push_back(*std::move(value));
    return values;
}

} // namespace rdmanet::attach
