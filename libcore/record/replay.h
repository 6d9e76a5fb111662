/* record/replay.h (private) - a record that is run again */
#ifndef RECORD_REPLAY_H
#define RECORD_REPLAY_H
#include <infer/replay.h>
#include "base/arena.h"
#include "base/jread.h"
#include "record/record.h"

struct infer_replay {
	struct arena mem; /* the record, and copies of it */
	const struct json *body, *request, *run, *id_value;
	const infer_api *api;
	struct infer_replay_made made;
	int64_t line;
	const char *id;
	int scored;      /* a score, not a completion */
	int32_t *tokens; /* of a score */
	size_t n_tokens;
};
#endif
