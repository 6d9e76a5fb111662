/* infer-serve/main.c - options, then one call. */
#include "infer-serve/opts.h"
#include "infer-serve/serve.h"
#include "common/out.h"
#include "common/say.h"

static const struct help_line examples[] = {
	{ "infer-serve -m m.gguf", "at http://127.0.0.1:8080" },
	{ "infer-serve -m demo --listen 127.0.0.1:0", "at a free port, which it prints" },
	{ "infer-serve -m m.gguf --listen unix:/run/infer.sock", "at a socket" },
	{ "infer-serve -m m.gguf --listen 0.0.0.0:80 --api-key-file keys", "for others" },
	{ "infer-serve --config serve.yaml", "several models" },
	{ NULL, NULL },
};
static const struct program program = {
	.name = "infer-serve",
	.usage = "infer-serve -m MODEL [OPTION]...",
	.brief = "Serve a language model over HTTP.",
	.about = "Clients of OpenAI's API find /v1/chat/completions, /v1/completions and "
		 "/v1/models. The address is printed once requests are taken.",
	.examples = examples,
	.rows = serve_rows,
};

int main(int argc, char **argv)
{
	struct serve_opts o = {
		.listen = "127.0.0.1:8080",
		.chat = CHAT_ARGS,
		.embed = -1,
		.max_tokens = -1,
		.parallel = 32,
		.max_queue = 256,
		.max_connections = 512,
		.max_body = 32 << 20,
		.max_file = 512 << 20,
		.header_timeout = 10,
		.body_timeout = 60,
		.drain = 30,
	};
	struct opt_rest rest;
	int code = start(&program, &o, &o.start, argc, argv, &rest);

	if (code >= 0)
		return code;
	if (rest.n_words) {
		say_error("'%.60s' is not an option; if it is a model: -m %.60s", rest.words[0],
		          rest.words[0]);
		code = EXIT_USAGE;
	} else {
		code = serve(&o, serve_rows);
	}
	opt_rest_fini(&rest);
	return out_end(code);
}
