/* record/replay.h (private) - a record that is run again */
#ifndef RECORD_REPLAY_H
#define RECORD_REPLAY_H
#include <infer/replay.h>
#include "base/arena.h"
#include "base/jread.h"
#include "record/record.h"

struct infer_replay {
	struct arena mem; /* contains the record, and copies of its parts */
	const struct json *body, *request, *run, *id_value;
	const infer_api *api;
	struct infer_replay_made made;
	int64_t line;
	const char *id;
	int scored;      /* the record is a score, not a completion */
	int32_t *tokens; /* ids of the scored text */
	size_t n_tokens;
};
#endif
