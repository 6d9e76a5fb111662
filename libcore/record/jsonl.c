/* record/jsonl.c - one JSON line per record, each handed to the system whole */
#include "record/record.h"
#include "base/err.h"
#include "base/fmath.h"
#include "base/jread.h"
#include "base/utf8.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

int infer_writer_open(infer_writer **out, int fd, infer_error *err)
{
	infer_writer *w;

	*out = NULL;
	if (fd < 0)
		return err_set(err, INFER_EINVAL, "file descriptor %d", fd);
	w = mem_zalloc(MEM_RECORD, 1, sizeof *w);
	if (!w)
		return err_set(err, INFER_ENOMEM, "no memory for a writer of records");
	w->fd = fd;
	w->owned = -1;
	buf_init(&w->line, MEM_RECORD);
	*out = w;
	return INFER_OK;
}

void infer_writer_free(infer_writer *w)
{
	if (!w)
		return;
	buf_fini(&w->line);
	if (w->owned >= 0)
		close(w->owned);
	mem_free(w->path);
	mem_free(w);
}

struct jwrite *record_begin(infer_writer *w, const char *kind)
{
	buf_clear(&w->line);
	jw_init(&w->w, &w->line);
	jw_object(&w->w, NULL);
	w->has_kind = kind != NULL;
	if (!kind)
		return &w->w;
	if (!w->started)
		jw_int(&w->w, "v", 1);
	jw_str(&w->w, "kind", kind);
	return &w->w;
}

/* A descriptor that does not block is waited for. */
static int again(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return errno == EINTR || ((errno == EAGAIN || errno == EWOULDBLOCK) &&
	                          (poll(&p, 1, -1) >= 0 || errno == EINTR));
}

int record_end(infer_writer *w, infer_error *err)
{
	size_t at = 0;
	ssize_t n;

	jw_end(&w->w);
	jw_line(&w->w);
	if (w->line.bad)
		return err_set(err, INFER_ENOMEM, "no memory for a record");
	while (at < w->line.len) {
		n = write(w->fd, w->line.at + at, w->line.len - at);
		if (n < 0 && !again(w->fd)) {
			err_errno(err, errno, "cannot write a record");
			if (w->path && at)
				/* else the next run cuts the half off */
				(void)!ftruncate(w->fd, w->bytes);
			return INFER_EIO;
		}
		at += n > 0 ? (size_t)n : 0;
	}
	w->started |= w->has_kind;
	w->bytes += (off_t)w->line.len;
	w->dirty = 1;
	return INFER_OK;
}

void record_text(struct jwrite *w, const char *text, size_t n)
{
	jw_strn(w, "text", n ? text : "", n);
	if (n && utf8_check(text, n) != n)
		jw_base64(w, "text_b64", text, n);
}

const char *record_finish(const struct infer_completion *c)
{
	static const char *const names[] = {
		[INFER_FINISH_STOP] = "stop",
		[INFER_FINISH_LENGTH] = "length",
		[INFER_FINISH_CANCELLED] = "cancelled",
		[INFER_FINISH_ERROR] = "error",
	};

	struct infer_reply_parts parts = { .n_calls = 0 };

	must(c->finish >= 0 && c->finish < (int)(sizeof names / sizeof *names));
	if (c->reply)
		infer_reply_get(c->reply, &parts);
	return c->finish == INFER_FINISH_STOP && parts.n_calls ? "tool_calls" : names[c->finish];
}

/* Tokens a second, null where nothing was timed. */
static void put_rate(struct jwrite *w, const char *key, int64_t n, int64_t ns)
{
	if (n > 0 && ns > 0)
		jw_num(w, key, (double)n * 1e9 / (double)ns);
	else
		jw_null(w, key);
}

void record_usage(struct jwrite *w, const struct infer_usage *u, double load_ms)
{
	jw_object(w, "usage");
	jw_int(w, "prompt_tokens", u->prompt_tokens);
	jw_int(w, "completion_tokens", u->completion_tokens);
	jw_int(w, "cached_tokens", u->cached_tokens);
	jw_end(w);
	jw_object(w, "timings");
	jw_num(w, "load_ms", load_ms);
	jw_num(w, "queue_ms", (double)u->queue_ns / 1e6);
	jw_num(w, "prefill_ms", (double)u->prefill_ns / 1e6);
	jw_num(w, "ttft_ms", (double)u->first_token_ns / 1e6);
	jw_num(w, "decode_ms", (double)u->decode_ns / 1e6);
	put_rate(w, "prefill_tok_s", u->prompt_tokens - u->cached_tokens, u->prefill_ns);
	put_rate(w, "decode_tok_s", u->completion_tokens - 1, u->decode_ns);
	jw_end(w);
}

static void put_top(struct jwrite *w, const char *key, const struct infer_top *top, int32_t n)
{
	jw_array(w, key);
	for (int32_t i = 0; i < n; i++) {
		jw_object(w, NULL);
		jw_int(w, "id", top[i].token);
		jw_num(w, "logprob", (double)top[i].logprob);
		jw_end(w);
	}
	jw_end(w);
}

void record_tokens(struct jwrite *w, const struct infer_completion *c)
{
	int any = 0;

	if (c->flags & INFER_RECORD_TOKENS) {
		jw_array(w, "tokens");
		for (size_t i = 0; i < c->n_tokens; i++)
			jw_int(w, NULL, c->tokens[i].token);
		jw_end(w);
	}
	if (!(c->flags & INFER_RECORD_LOGPROBS))
		return;
	jw_array(w, "logprobs");
	for (size_t i = 0; i < c->n_tokens; i++) {
		jw_num(w, NULL, (double)c->tokens[i].logprob);
		any |= c->tokens[i].n_top > 0;
	}
	jw_end(w);
	if (!any)
		return;
	jw_array(w, "top");
	for (size_t i = 0; i < c->n_tokens; i++)
		put_top(w, NULL, c->tokens[i].top, c->tokens[i].n_top);
	jw_end(w);
}

void record_id(struct jwrite *w, const char *id, uint32_t flags)
{
	struct json v;
	size_t n = id ? strlen(id) : 0;

	if (flags & INFER_RECORD_ID_WHOLE && n && jread_num(&v, id, n) == n && json_is_whole(&v))
		jw_raw(w, "id", id, n);
	else
		jw_str(w, "id", id);
}

int infer_write_completion(infer_writer *out, const struct infer_completion *c,
                           const struct infer_run_info *run, infer_error *err)
{
	struct jwrite *w = record_begin(out, "completion");

	record_id(w, c->id, c->flags);
	record_text(w, c->text, c->text_bytes);
	record_reply(w, c, c->id, 0);
	jw_str(w, "finish_reason", record_finish(c));
	record_usage(w, &c->usage, c->load_ms);
	if (c->code) {
		jw_object(w, "error");
		jw_str(w, "code", infer_status_name(c->code));
		jw_str(w, "message", c->message);
		jw_end(w);
	}
	if (c->request_sha256)
		jw_str(w, "request_sha256", c->request_sha256);
	record_run(out, run);
	record_tokens(w, c);
	return record_end(out, err);
}

int infer_write_token(infer_writer *out, const struct infer_event *ev, infer_error *err)
{
	struct jwrite *w = record_begin(out, "token");

	jw_int(w, "i", ev->index);
	jw_int(w, "id", ev->token);
	record_text(w, ev->text, ev->text_bytes);
	jw_num(w, "logprob", (double)ev->logprob);
	put_top(w, "top", ev->top, ev->n_top);
	return record_end(out, err);
}

int infer_write_score(infer_writer *out, const char *id, const int32_t *tokens,
                      const float *logprobs, size_t n, const struct infer_run_info *run,
                      infer_error *err)
{
	struct jwrite *w = record_begin(out, "score");
	double sum = 0;

	jw_str(w, "id", id);
	jw_array(w, "tokens");
	for (size_t i = 0; i < n; i++)
		jw_int(w, NULL, tokens[i]);
	jw_end(w);
	jw_array(w, "logprobs");
	for (size_t i = 0; i < n; i++) {
		if (i)
			jw_num(w, NULL, (double)logprobs[i]);
		else
			jw_null(w, NULL);
		sum += i ? (double)logprobs[i] : 0;
	}
	jw_end(w);
	if (n > 1)
		jw_num(w, "perplexity", fm_exp(-sum / (double)(n - 1)));
	else
		jw_null(w, "perplexity");
	record_run(out, run);
	return record_end(out, err);
}

int infer_write_error(infer_writer *out, const char *id, const infer_error *e, const char *param,
                      infer_error *err)
{
	struct jwrite *w = record_begin(out, "error");

	jw_str(w, "id", id);
	jw_str(w, "code", infer_status_name(e->code));
	jw_str(w, "message", e->message);
	jw_str(w, "param", param);
	return record_end(out, err);
}
