/* infer-serve/ops/options.h - the values of the command line's options. */
#ifndef INFER_SERVE_OPS_OPTIONS_H
#define INFER_SERVE_OPS_OPTIONS_H
#include <stdint.h>
#include "common/chat.h"
#include "common/model.h"
#include "common/opt.h"
#include "common/sampling.h"
#include "common/start.h"

struct serve_opts {
	struct start start;
	const char *model, *listen, *alias, *config;
	struct engine_args engine;
	struct sampling_args sampling;
	struct chat_args chat;
	struct opt_list server_names;
	const char *api_key_file, *cors, *access_log, *tls_cert, *tls_key;
	int64_t max_tokens;       /* tokens of an answer; -1: no limit */
	int embed;                /* pooling of embeddings: -1 the model's, 0 mean, 1 last, 2 cls */
	const char *otlp;         /* URL of the collector; NULL: no spans */
	const char *log_requests; /* "": without texts, "content": with them; NULL: not given */
	const char *files_dir;    /* directory; NULL: no files and batches */
	int no_slots, no_page;
	struct opt_list loras; /* FILE[=SCALE] of each adapter */
	int lora_init_without_apply;
	const char *lora_dir;  /* folder of adapters that clients may load; NULL: none */
	int64_t max_lora_rank; /* of those; 0: not given */
	int64_t parallel;      /* sequences of a model that are computed at the same time */
	int64_t max_queue, max_connections, header_timeout, body_timeout, drain, idle;
	uint64_t max_body, max_file;
	struct opt_list trusted_proxies; /* addresses for conns_open */
};
#endif
