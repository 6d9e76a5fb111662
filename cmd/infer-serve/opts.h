/* infer-serve/opts.h - the options of infer-serve.  Included by main.c alone. */
#ifndef INFER_SERVE_OPTS_H
#define INFER_SERVE_OPTS_H
#include "infer-serve/ops/options.h"

#define AT(field) offsetof(struct serve_opts, field)
static const struct opt serve_rows[] = {
	{ OPT_GROUP, .name = "server", .help = "Server" },
	{ OPT_STR, 0, "listen", "ADDR:PORT|unix:PATH",
	  "where to listen (127.0.0.1:8080); port 0: a free one", AT(listen), .marks = OPT_COMMON },
	{ OPT_STR, 0, "config", "FILE",
	  "serve the models of this YAML file, each loaded on its first request", AT(config),
	  .marks = OPT_COMMON, .values = "@file" },
	{ OPT_STR, 0, "alias", "NAME", "the name of the model in answers (its own)", AT(alias) },
	{ OPT_STR, 0, "api-key-file", "FILE",
	  "accept only requests with a key of FILE, one on each line", AT(api_key_file),
	  .marks = OPT_COMMON, .values = "@file" },
	{ OPT_STR, 0, "tls-cert", "FILE", "HTTPS with this certificate, or chain, in PEM",
	  AT(tls_cert), .values = "@file" },
	{ OPT_STR, 0, "tls-key", "FILE", "and its private key", AT(tls_key), .values = "@file" },
	{ OPT_STR, 0, "cors", "ORIGIN",
	  "pages that may read answers: of one origin, or localhost (any)", AT(cors) },
	{ OPT_LIST, 0, "server-name", "NAME",
	  "a host name that clients or a proxy of this machine use (Host)", AT(server_names) },
	{ OPT_STR, 0, "access-log", "FILE", "append a JSON line for each request; - is stdout",
	  AT(access_log), .values = "@file" },
	{ OPT_STR, 0, "log-requests", "[=content]",
	  "log the settings of requests, and with content their texts", AT(log_requests),
	  .values = "content" },
	{ OPT_STR, 0, "otlp", "URL", "send a span for each request to this OpenTelemetry collector",
	  AT(otlp) },
	{ OPT_FLAG, 0, "no-slots", NULL, "answer /slots with status 501", AT(no_slots),
	  .value = 1 },

	{ OPT_STR, 0, "files-dir", "DIR", "support files and batches, kept in DIR", AT(files_dir),
	  .values = "@file" },
	{ OPT_FLAG, 0, "no-page", NULL, "no page at /", AT(no_page), .value = 1 },

	{ OPT_GROUP, .name = "limits", .help = "Limits" },
	{ OPT_INT, 'n', "max-tokens", "N",
	  "most tokens of an answer, if its request sets none (no limit)", AT(max_tokens), 1,
	  INT32_MAX },
	{ OPT_INT, 0, "max-queue", "N", "requests that may wait; then 429 (256)", AT(max_queue), 0,
	  1 << 20 },
	{ OPT_INT, 0, "max-connections", "N", "connections at once (512)", AT(max_connections), 1,
	  1 << 16 },
	{ OPT_LIST, 0, "trusted-proxy", "ADDR",
	  "an address without a limit on incomplete connections", AT(trusted_proxies) },
	{ OPT_SIZE, 0, "max-body", "SIZE", "longest body of a request (32M)", AT(max_body), 1,
	  1 << 30 },
	{ OPT_SIZE, 0, "max-file", "SIZE", "longest upload (512M)", AT(max_file), 1,
	  (double)(UINT64_C(1) << 40) },
	{ OPT_INT, 0, "header-timeout", "S", "seconds for the head of a request (10)",
	  AT(header_timeout), 1, 86400 },
	{ OPT_INT, 0, "body-timeout", "S", "seconds for its body; then 408 (60)", AT(body_timeout),
	  1, 86400 },
	{ OPT_INT, 0, "idle", "S", "end after so many seconds without a request (never)", AT(idle),
	  1, 1 << 30 },
	{ OPT_INT, 0, "drain", "S", "seconds that requests may continue after SIGTERM (30)",
	  AT(drain), 0, 86400 },

	{ OPT_GROUP, .name = "model", .help = "Model and engine" },
	MODEL_ROW(struct serve_opts, model),
	TEMPLATE_ROWS(struct serve_opts, chat),
	{ OPT_PICK, 0, "embed", "mean|last|cls",
	  "embeddings: of all tokens, the last, the first (the model's, else mean)", AT(embed),
	  .values = "mean last cls" },
	ENGINE_ROWS(struct serve_opts, engine),
	{ OPT_INT, 0, "parallel", "N",
	  "sequences computed at once, each with the whole context (32)", AT(parallel), 1, 1024 },

	{ OPT_GROUP, .name = "sampling",
	  .help = "Sampling, if a request does not set it (the model's, else those shown)" },
	SAMPLING_ROWS(struct serve_opts, sampling),

	START_ROWS(struct serve_opts, start),
};
#undef AT
#endif
