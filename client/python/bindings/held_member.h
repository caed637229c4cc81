// A seat in a context-parallel group, which the client's module makes and the worker's
// takes.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_MEMBER_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_MEMBER_H_

#include "client/cpp/group_member.h"
#include "client/python/bindings/held_session.h"

namespace evenpack::python {

using HeldMember = HeldSession<client::GroupMember>;

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_MEMBER_H_
