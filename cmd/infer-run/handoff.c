/* infer-run/handoff.c - --server: let an infer-serve answer, and print the answer as if it had been
 * computed here. */
#include "handoff.h"
#include "remote.h"
#include "common/say.h"
#include "base/err.h"
#include "base/jread.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ERROR_BYTES = 1 << 20 };

/* Print h->text, or add it to the output of --no-stream. */
static int text_send(struct handoff *h, infer_error *err)
{
	if (h->text.bad)
		return err_nomem(err);
	h->text_written |= h->text.len > 0;
	if (h->o->no_stream) {
		buf_put(&h->whole, h->text.at, h->text.len);
		return h->whole.bad ? err_nomem(err) : INFER_OK;
	}
	return h->text.len ? say_out(h->text.at, h->text.len, err) : INFER_OK;
}

static int text_put(struct handoff *h, const char *at, size_t n, infer_error *err)
{
	buf_clear(&h->text);
	buf_put(&h->text, at, n);
	return text_send(h, err);
}

/* Append a piece of a tool call. A call is a line: its name, a space, and its arguments. */
static void add_call(struct handoff *h, const struct json *call)
{
	const struct json *f = json_get(call, "function"), *name = json_get(f, "name"),
			  *more = json_get(f, "arguments");

	if (name) {
		buf_putc(&h->calls, '\n');
		buf_put(&h->calls, json_str(name), json_bytes(name));
		buf_putc(&h->calls, ' ');
	}
	buf_put(&h->calls, json_str(more), json_bytes(more));
}

/* Return the infer_status with this name, or INFER_ENET. */
static int status_of(const char *name)
{
	for (int i = INFER_OK + 1; i < INFER_STATUS_COUNT; i++)
		if (!strcmp(infer_status_name(i), name))
			return i;
	return INFER_ENET;
}

/* If v is an error in our API format, set *err and return its status; otherwise return INFER_OK. */
static int read_error(struct handoff *h, const struct json *v, infer_error *err)
{
	const struct json *message = json_get(v, "message");
	const char *code = json_cstr(&h->mem, json_get(v, "code"));

	if (!code || !json_is_string(message))
		return INFER_OK;
	return err_set(err, status_of(code), "%.*s", (int)message->n, message->s);
}

static void read_end(struct handoff *h, const struct json *v)
{
	const struct json *used = json_get(json_get(v, "usage"), "completion_tokens");

	h->ended = 1;
	h->length = json_equals(json_get(v, "finish_reason"), "length");
	if (h->length && json_is(used, JSON_INT) && used->i != h->o->max_tokens)
		say_warning("the context of the server is full, and the answer is cut");
	else if (h->length && h->o->max_tokens && h->o->output == OUTPUT_TEXT &&
	         constrain_given(&h->o->constrain))
		say_warning("-n %lld cut the answer: it may not satisfy %s",
		            (long long)h->o->max_tokens, constrain_given(&h->o->constrain));
}

/* Read an event of the answer and print its text. */
static int read_part(struct handoff *h, const char *at, size_t n, infer_error *err)
{
	const struct json *v, *text, *reasoning;
	struct arena mem;

	arena_init(&mem, MEM_BASE);
	int rc = jread(&v, &mem, at, n, "the server's answer", err);

	if (rc == INFER_EFORMAT)
		rc = err->code = INFER_ENET;
	if (!rc)
		rc = read_error(h, v, err);
	if (rc) {
		arena_fini(&mem);
		return rc;
	}
	text = json_get(v, "text");
	reasoning = json_get(v, "reasoning");
	if (reasoning) {
		h->aside = 1;
		say_aside(json_str(reasoning), json_bytes(reasoning));
	} else if (h->aside && (json_bytes(text) || json_get(v, "tool_calls"))) {
		say_aside(NULL, 0);
	}
	json_each(call, json_get(v, "tool_calls"))
		add_call(h, call);
	if (json_get(v, "finish_reason"))
		read_end(h, v);
	if (h->o->output == OUTPUT_TEXT)
		rc = text_put(h, json_str(text), json_bytes(text), err);
	arena_fini(&mem);
	return rc;
}

/* Print an event that is a record. */
static int print_record(struct handoff *h, const char *at, size_t n, infer_error *err)
{
	buf_clear(&h->text);
	buf_put(&h->text, at, n);
	buf_putc(&h->text, '\n');
	return text_send(h, err);
}

/* Read all events of the answer: parts in our API format, and records that are printed as they are.
 * INFER_ENET  the connection was closed before the end */
static int read_events(struct handoff *h, struct remote *r, struct buf *line, infer_error *err)
{
	static const char data[] = "data: ";
	int over = 0, is_record = 0;

	for (;;) {
		TRY(remote_line(r, line, &over, err));
		if (over)
			break;
		if (!line->len) {
			is_record = 0;
		} else if (line->len > 6 && !memcmp(line->at, data, 6)) {
			TRY(is_record ? print_record(h, line->at + 6, line->len - 6, err)
			              : read_part(h, line->at + 6, line->len - 6, err));
		} else {
			is_record = line->len == 13 && !memcmp(line->at, "event: record", 13);
		}
	}
	return h->ended ? INFER_OK
	                : err_set(err, INFER_ENET,
	                          "%s: the connection was closed before the answer was complete",
	                          r->where);
}

/* Read an error response. An error of the request keeps its code; any other is INFER_ENET. */
static int read_refusal(struct handoff *h, struct remote *r, struct buf *line, infer_error *err)
{
	const struct json *v = NULL, *message = NULL;
	struct buf all;
	int over = 0, rc = INFER_OK;

	buf_init(&all, MEM_BASE);
	while (!rc && !over && all.len < MAX_ERROR_BYTES) {
		rc = remote_line(r, line, &over, err);
		buf_put(&all, line->at ? line->at : "", line->len);
	}
	if (!rc && !jread(&v, &h->mem, all.at ? all.at : "", all.len, "answer", NULL)) {
		rc = read_error(h, v, err);
		message = json_get(json_get(v, "error"), "message");
	}
	if (!rc)
		rc = err_set(err, INFER_ENET, "%s: answered with status %d: %.*s", r->where,
		             r->status,
		             (int)(json_bytes(message) < 150 ? json_bytes(message) : 150),
		             json_str(message));
	buf_fini(&all);
	return rc;
}

/* End the output: print the tool calls, the final newline, and the output of --no-stream. */
static int finish_output(struct handoff *h, int failed, infer_error *err)
{
	if (h->o->output == OUTPUT_TEXT) {
		size_t skip = !h->text_written && h->calls.len;

		if (h->calls.bad)
			return err_nomem(err);
		if (h->calls.len)
			TRY(text_put(h, h->calls.at + skip, h->calls.len - skip, err));
		if (!failed || h->text_written)
			TRY(text_put(h, "\n", 1, err));
	}
	if (h->o->no_stream && (!failed || h->o->output != OUTPUT_TEXT) && h->whole.len)
		return say_out(h->whole.at, h->whole.len, err);
	return INFER_OK;
}

/* Send the request once and print its answer. Returns the exit code. */
static int send_request(struct handoff *h, int64_t number)
{
	infer_error err = { 0 }, late = { 0 };
	struct remote r = { .fd = -1 };
	struct buf line;
	int began = 0, rc;

	buf_init(&line, MEM_BASE);
	buf_clear(&h->whole);
	buf_clear(&h->calls);
	h->text_written = h->aside = h->ended = h->length = 0;
	rc = handoff_body(h, number, &err);
	if (!rc) {
		rc = remote_post(&r, h->o->server, "/v1/infer", &h->body, &err);
		if (!rc && r.status == 200) {
			began = 1;
			rc = read_events(h, &r, &line, &err);
		} else if (!rc) {
			rc = read_refusal(h, &r, &line, &err);
		}
		remote_close(&r);
	}
	if (began && rc != INFER_EIO && finish_output(h, rc != INFER_OK, &late) && !rc) {
		err = late;
		rc = late.code;
	}
	buf_fini(&line);
	if (rc)
		return say_fail(&err);
	return h->length && h->o->fail_on_length ? EXIT_LENGTH : EXIT_DONE;
}

static void report_seed(const struct handoff *h)
{
	char sentence[48];

	snprintf(sentence, sizeof sentence, "seed %llu", (unsigned long long)h->seed);
	say_log(NULL, INFER_LOG_INFO, sentence);
}

int handoff(const struct run_opts *o, const struct opt_rest *rest)
{
	struct handoff h = { .o = o, .rest = rest };
	infer_error err = { 0 };
	int code = EXIT_DONE;

	buf_init(&h.words, MEM_BASE);
	buf_init(&h.body, MEM_BASE);
	buf_init(&h.text, MEM_BASE);
	buf_init(&h.whole, MEM_BASE);
	buf_init(&h.calls, MEM_BASE);
	arena_init(&h.mem, MEM_BASE);
	if (handoff_read(&h, &err)) {
		code = say_fail(&err);
	} else {
		report_seed(&h);
		for (int64_t i = 1; i <= o->repeat && (code == EXIT_DONE || code == EXIT_LENGTH);
		     i++)
			code = send_request(&h, i);
	}
	constrain_fini(&h.constrain);
	buf_fini(&h.words);
	buf_fini(&h.body);
	buf_fini(&h.text);
	buf_fini(&h.whole);
	buf_fini(&h.calls);
	arena_fini(&h.mem);
	return code;
}
