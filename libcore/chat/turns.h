/* chat/turns.h (private) - a conversation that was read once and grows. */
#ifndef CHAT_TURNS_H
#define CHAT_TURNS_H
#include <infer/chat.h>
#include "base/json.h"

/* Messages are immutable once they are there; what is taken out of the list stays in the arena. */
struct infer_turns {
	struct arena mem;
	struct json **at;
	size_t n, cap;
	struct json **kept; /* infer_turns_keep; NULL: nothing */
	size_t n_kept;
};

/* All of them as one array in a; NULL: no memory. */
const struct json *turns_list(struct arena *a, const infer_turns *t);
#endif
