/* tests/fuzz/request.c - any bytes as a request line: the result is a job that can run, or one
 * that says why not. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <infer/record.h>
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const infer_job *j)
{
	must(j->line == 42 && (j->id ? *j->id : j->fault.error.code || j->is_other));
	if (j->fault.error.code) {
		must(*j->fault.error.message && !strchr(j->fault.error.message, '\n'));
		must(j->fault.kind && infer_fault_status(j->fault.kind) >= 400);
		return;
	}
	if (j->is_other)
		return;
	must(j->request.n_prompt > 0 && j->n >= 1 && j->n <= INFER_JOB_MOST);
	must(j->logprobs >= -1 && j->request.top >= 0 && j->request.top <= INFER_MAX_TOP);
	must(infer_job_seed(j, 0) == j->request.sample.seed);
	for (int32_t i = 0; i < j->request.n_stop; i++)
		must(j->request.stop[i].len > 0);
	infer_sampler *s = NULL;
	infer_error err;

	/* what was taken is what a sampler takes */
	must(!infer_sampler_new(&s, &j->request.sample, 1 << 20, &err));
	infer_sampler_free(s);
}

/* The same bytes as the body of a request to a server, in each form: read, or refused in it. */
static void check_body(const infer_job_reader *r, const char *text, size_t n)
{
	static const char *const forms[] = {
#define API(x) #x,
#include "api/api_list.h"
#undef API
	};
	infer_writer *w;
	infer_job *j;

	must(!infer_writer_new(&w, NULL));
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		must(!infer_job_read(&j, r, infer_api_named(forms[i]), 0, "a", text, n, NULL));
		must(!j->fault.error.code == !j->fault.kind);
		if (j->fault.kind)
			must(!infer_api_put_fault(w, j->api, &j->fault, NULL));
		infer_job_free(j);
	}
	infer_writer_free(w);
}

static void open_all(infer_model **model, infer_chat **chat, infer_chat **tools, const char *src,
                     size_t n)
{
	struct infer_str s;

	must(!infer_model_open(model, "demo", &(struct infer_model_opts){ 0 }, NULL));
	must(!infer_chat_source(infer_model_file(*model), NULL, &s, NULL) && s.at);
	must(!infer_chat_open(chat, s.at, s.len, "built in", NULL));
	must(!infer_chat_open(tools, src, n, "tools", NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static infer_model *model; /* the built-in one, opened once */
	static infer_job_reader *reader, *server;
	static infer_chat *chat, *tools; /* its template, and one that knows tools and thinking */
	static const char src[] = "{% for t in tools or [] %}{{ t.function.name }}{{ t|tojson }}{% "
				  "endfor %}{% for m in messages %}<{{ m.role }}>{{ m.content }}"
				  "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ "
				  "c.function.arguments|tojson }}{% endfor %}{% endfor %}{{ "
				  "enable_thinking|default('') }}";
	char *line = malloc(size + !size);
	infer_job *j = NULL, *id = NULL;

	must(line);
	if (size)
		memcpy(line, data, size);
	if (!model)
		open_all(&model, &chat, &tools, src, sizeof src - 1);
	if (!reader) {
		const struct infer_job_opts o = {
			.model = model,
			.max_tokens = -1,
			.logprobs = -1,
			.chat = chat,
			.chat_tools = tools,
			.conversation = { .system = "s", .system_n = 1 },
		};
		struct infer_job_opts served = o;

		served.reads = INFER_JOB_STREAM | INFER_JOB_LENIENT;
		served.ctx = 48; /* what asks for it is truncated */
		must(!infer_job_reader_new(&reader, &o, NULL));
		must(!infer_job_reader_new(&server, &served, NULL));
	}
	must(!infer_line_read(&j, line, size, 42, 0, reader, NULL));
	must(!infer_line_read(&id, line, size, 42, INFER_LINE_ID, reader, NULL));
	must(!j->id == !id->id && (!j->id || !strcmp(j->id, id->id)) &&
	     j->id_whole == id->id_whole && j->api == id->api && j->is_other == id->is_other);
	check(j);
	check_body(server, line, size);
	infer_job_free(j);
	infer_job_free(id);
	free(line);
	return 0;
}
