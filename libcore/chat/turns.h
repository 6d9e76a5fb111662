/* chat/turns.h (private) - a conversation to which turns are appended. */
#ifndef CHAT_TURNS_H
#define CHAT_TURNS_H
#include <infer/chat.h>
#include "base/json.h"

/* Messages in the list are immutable; the memory of removed ones is freed with the arena. */
struct infer_turns {
	struct arena mem;
	struct json **at;
	size_t n, cap;
	struct json **kept; /* saved by infer_turns_keep; NULL: nothing is saved */
	size_t n_kept;
};

/* Return all messages as an array in a; NULL: out of memory. */
const struct json *turns_list(struct arena *a, const infer_turns *t);
#endif
