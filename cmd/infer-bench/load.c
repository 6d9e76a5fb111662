/* infer-bench/load.c - send a workload to a server and time each request. */
#include "load.h"
#include "common/progress.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LINE_BYTES = 1 << 20, SOME = 64, IDLE_NS = 1000000000 };

/* A connection and the request on it. */
struct slot {
	struct client_call call;
	struct load *l;
	struct load_done *d;
	struct buf body, line, prompt;
	struct arena mem;
	int busy;
	int64_t free_ns; /* time at which the last request on it ended */
	/* the last two reads with text: their times, the client_waits of the last, and its pieces */
	int64_t read_ns, before_ns;
	uint64_t read;
	int32_t together;
};

/* ---- requests ---- */

static void put_body(struct buf *to, const struct load *l, const char *model, const char *prompt,
                     int32_t max_tokens, int stream)
{
	struct jwrite w;

	buf_clear(to);
	jw_init(&w, to);
	jw_object(&w, NULL);
	if (model)
		jw_str(&w, "model", model);
	if (l->chat) {
		jw_array(&w, "messages");
		jw_object(&w, NULL);
		jw_str(&w, "role", "user");
		jw_str(&w, "content", prompt);
		jw_end(&w);
		jw_end(&w);
	} else {
		jw_str(&w, "prompt", prompt);
	}
	jw_int(&w, "max_tokens", max_tokens);
	jw_int(&w, "temperature", 0);
	if (!l->may_stop)
		jw_bool(&w, "ignore_eos", 1);
	jw_bool(&w, "stream", stream);
	if (stream && l->has_timings)
		jw_bool(&w, "timings_per_token", 1);
	if (stream) {
		jw_object(&w, "stream_options");
		jw_bool(&w, "include_usage", 1);
		jw_end(&w);
	}
	jw_end(&w);
}

/* ---- answers ---- */

static int has_text(const struct json *v) { return json_bytes(v) > 0; }

static int has_token(const struct json *choice)
{
	const struct json *delta = json_get(choice, "delta");

	return has_text(json_get(choice, "text")) || has_text(json_get(delta, "content")) ||
	       has_text(json_get(delta, "reasoning_content")) ||
	       has_text(json_get(delta, "reasoning")) ||
	       json_count(json_get(delta, "tool_calls")) > 0;
}

static void take_usage(struct load_done *d, const struct json *usage)
{
	if (!json_is_object(usage))
		return;
	d->has_usage = 1;
	d->prompt_tokens = (int64_t)json_double(json_get(usage, "prompt_tokens"));
	d->completion_tokens = (int64_t)json_double(json_get(usage, "completion_tokens"));
	d->cached_tokens = (int64_t)json_double(
		json_get(json_get(usage, "prompt_tokens_details"), "cached_tokens"));
}

static void set_refused(struct load_done *d, const struct json *error)
{
	const struct json *m = json_get(error, "message");

	m = json_is_string(error) ? error : m;
	d->failed = 1;
	snprintf(d->why, sizeof d->why, "%.*s", (int)(json_bytes(m) < 150 ? json_bytes(m) : 150),
	         json_bytes(m) ? json_str(m) : "refused");
}

static void take_timings(struct load_done *d, const struct json *timings)
{
	const struct json *ms = json_get(timings, "predicted_ms");

	if (json_is_number(ms))
		d->decode_ms = json_double(ms);
}

/* Add the times between the pieces of the last read: they were sent at some time since the read before. */
static void add_gaps(struct slot *s)
{
	double ms = s->together ? (double)(s->read_ns - s->before_ns) * 1e-6 / s->together : 0;

	for (int32_t i = 0; s->d->reads > 1 && i < s->together; i++)
		buf_put(&s->l->gaps, &ms, sizeof ms);
}

/* Record that a piece of text arrived. Pieces of one read have its time. */
static void record_token(struct slot *s, int64_t now)
{
	struct load_done *d = s->d;
	uint64_t read = client_waits(s->l->http);

	if (d->chunks++ && read == s->read) {
		s->together++;
		d->first_chunks += d->reads == 1;
		return;
	}
	add_gaps(s);
	if (!d->reads++) {
		d->first_ns = now;
		d->first_chunks = 1;
	}
	s->before_ns = s->read_ns;
	s->read_ns = d->last_ns = now;
	s->read = read;
	s->together = 1;
}

/* Read an event, "data: {...}". */
static void read_event(struct slot *s, const char *at, size_t n, int64_t now)
{
	const struct json *v;

	while (n && (*at == ' ' || *at == '\t'))
		at++, n--;
	if (!n || *at != '{')
		return; /* [DONE] */
	arena_reset(&s->mem);
	if (jread(&v, &s->mem, at, n, "an event", NULL)) {
		s->d->failed = 1;
		snprintf(s->d->why, sizeof s->d->why, "an event is not JSON");
		return;
	}
	if (json_get(v, "error") && !json_is_null(json_get(v, "error"))) {
		set_refused(s->d, json_get(v, "error"));
		return;
	}
	take_usage(s->d, json_get(v, "usage"));
	take_timings(s->d, json_get(v, "timings"));
	if (has_token(json_first(json_get(v, "choices"))))
		record_token(s, now);
}

static void read_line(struct slot *s, int64_t now)
{
	size_t n = s->line.len;

	if (n && s->line.at[n - 1] == '\r')
		n--;
	if (n > 5 && !memcmp(s->line.at, "data:", 5))
		read_event(s, s->line.at + 5, n - 5, now);
	else if (n && *s->line.at == '{') /* an error is plain JSON, not an event */
		read_event(s, s->line.at, n, now);
	buf_clear(&s->line);
}

static void receive_bytes(void *user, const char *at, size_t n)
{
	struct slot *s = user;
	int64_t now = clock_now_ns();

	while (n) {
		const char *lf = memchr(at, '\n', n);
		size_t part = lf ? (size_t)(lf - at) : n;

		if (s->line.len + part < MAX_LINE_BYTES)
			buf_put(&s->line, at, part);
		else
			s->d->failed = 1;
		if (lf)
			read_line(s, now);
		at += part + (lf != NULL);
		n -= part + (lf != NULL);
	}
}

/* ---- sending ---- */

static int send_request(struct slot *s, int64_t i, int64_t due, infer_error *err)
{
	struct load *l = s->l;
	int64_t nth = i < 0 ? -1 - i : i;
	const struct planned *p = &l->work->at[i < 0 ? nth % l->work->n : i];
	const char *model = l->n_models ? l->models[(size_t)nth % l->n_models] : l->model;

	workload_prompt(l->work, i, &s->prompt);
	put_body(&s->body, l, model, s->prompt.at ? s->prompt.at : "", p->max_tokens, 1);
	if (s->body.bad || s->prompt.bad)
		return err_nomem(err);
	*s->d = (struct load_done){ .due_ns = due };
	s->together = 0;
	buf_clear(&s->line);
	s->busy = 1;
	s->d->sent_ns = clock_now_ns();
	return client_start(l->http, &s->call, l->path, s->body.at, s->body.len, err);
}

static void end_slot_request(struct slot *s, int64_t now)
{
	struct load_done *d = s->d;

	if (s->line.len)
		read_line(s, now);
	add_gaps(s);
	d->end_ns = d->last_ns ? d->last_ns : now;
	s->busy = 0;
	s->free_ns = now;
	if (!d->failed && *s->call.why) {
		d->failed = 1;
		snprintf(d->why, sizeof d->why, "%s", s->call.why);
	} else if (!d->failed && s->call.status != 200) {
		d->failed = 1;
		snprintf(d->why, sizeof d->why, "status %d", (int)s->call.status);
	} else if (!d->failed && !d->chunks && !d->completion_tokens) {
		d->failed = 1;
		snprintf(d->why, sizeof d->why, "the answer has no token");
	}
	if (!d->has_usage)
		d->completion_tokens = d->chunks;
}

struct slots {
	struct slot **at;
	int64_t n, cap, busy;
	struct arena mem;
};

static struct slot *slot_new(struct slots *all, struct load *l)
{
	if (all->n == all->cap) {
		int64_t cap = all->cap ? 2 * all->cap : SOME;
		struct slot **more = arena_alloc(&all->mem, (size_t)cap, sizeof(struct slot *));

		if (!more)
			return NULL;
		if (all->n)
			memcpy(more, all->at, (size_t)all->n * sizeof(struct slot *));
		all->at = more;
		all->cap = cap;
	}
	struct slot *s = arena_alloc(&all->mem, 1, sizeof *s);

	if (!s)
		return NULL;
	s->l = l;
	s->call = (struct client_call){ .got = receive_bytes, .user = s, .ended = 1 };
	s->free_ns = l->start_ns;
	buf_init(&s->body, MEM_BASE);
	buf_init(&s->line, MEM_BASE);
	buf_init(&s->prompt, MEM_BASE);
	arena_init(&s->mem, MEM_BASE);
	return all->at[all->n++] = s;
}

/* Return the connection that has been free for longest, or a new one. NULL: all are busy, or out of memory. */
static struct slot *slot_free(struct slots *all, struct load *l)
{
	struct slot *best = NULL;

	for (int64_t i = 0; i < all->n; i++)
		if (!all->at[i]->busy && (!best || all->at[i]->free_ns < best->free_ns))
			best = all->at[i];
	if (best && (!l->closed || all->n >= l->clients))
		return best;
	return l->clients && all->n >= l->clients ? NULL : slot_new(all, l);
}

static void slots_fini(struct slots *all, struct load *l)
{
	for (int64_t i = 0; i < all->n; i++) {
		struct slot *s = all->at[i];

		client_call_fini(l->http, &s->call);
		buf_fini(&s->body);
		buf_fini(&s->line);
		buf_fini(&s->prompt);
		arena_fini(&s->mem);
	}
	arena_fini(&all->mem);
}

/* Send all requests that are due, while connections are free. *next_ns: time at which the next one is due. */
static int send_due(struct load *l, struct slots *all, int64_t from, int64_t n, int64_t *sent,
                    struct load_done *into, int64_t *next_ns, infer_error *err)
{
	int paced = !l->closed && from >= 0;

	*next_ns = clock_now_ns() + IDLE_NS;
	while (*sent < n) {
		int64_t due = l->start_ns + (paced ? l->work->at[from + *sent].at_ns : 0);

		if (paced && due > clock_now_ns()) {
			*next_ns = due < *next_ns ? due : *next_ns;
			return INFER_OK;
		}
		struct slot *s = slot_free(all, l);

		if (!s && l->clients && all->n >= l->clients)
			return INFER_OK;
		if (!s)
			return err_nomem(err);
		s->d = &into[*sent];
		TRY(send_request(s, from < 0 ? from - *sent : from + *sent,
		                 paced ? due : s->free_ns, err));
		++*sent;
		all->busy++;
		if (all->busy > l->most_at_once)
			l->most_at_once = all->busy;
	}
	return INFER_OK;
}

int load_run(struct load *l, int64_t from, int64_t n, infer_error *err)
{
	struct slots all = { 0 };
	struct load_done *into = l->done + (from < 0 ? 0 : from);
	int64_t sent = 0, done = 0, next;
	int rc = INFER_OK;

	arena_init(&all.mem, MEM_BASE);
	l->start_ns = clock_now_ns();
	l->most_at_once = 0;
	buf_clear(&l->gaps);
	while (!rc && done < n) {
		struct client_call *over;

		rc = send_due(l, &all, from, n, &sent, into, &next, err);
		if (!rc)
			rc = client_step(l->http, next, &over, err);
		for (int64_t now = clock_now_ns(); !rc && over; over = over->next) {
			end_slot_request(over->user, now);
			all.busy--;
			progress_at(NULL, (uint64_t)++done, (uint64_t)n);
		}
	}
	l->end_ns = clock_now_ns();
	slots_fini(&all, l);
	return !rc && l->gaps.bad ? err_nomem(err) : rc;
}

int load_once(struct load *l, int32_t n, int64_t *prompt_tokens, infer_error *err)
{
	struct load_done d = { 0 };
	struct buf prompt, body, answer;
	struct arena mem;
	const struct json *v = NULL;
	int64_t status = 0;
	int rc;

	buf_init(&prompt, MEM_BASE);
	buf_init(&body, MEM_BASE);
	buf_init(&answer, MEM_BASE);
	arena_init(&mem, MEM_BASE);
	workload_words(l->work->seed, (uint64_t)n << 40, n, &prompt);
	put_body(&body, l, l->model, prompt.at ? prompt.at : "", 1, 0);
	rc = body.bad ? err_nomem(err)
	              : client_ask(l->http, l->path, body.at, &status, &answer, err);
	if (!rc && jread(&v, &mem, answer.at, answer.len - 1, "the answer", NULL))
		rc = err_set(err, INFER_ENET, "%s: status %d, and the answer is not JSON", l->path,
		             (int)status);
	if (!rc && status != 200) {
		set_refused(&d, json_get(v, "error"));
		rc = err_set(err, INFER_ENET, "%s: status %d: %s", l->path, (int)status, d.why);
	}
	take_usage(&d, json_get(v, "usage"));
	l->has_timings = json_is_number(json_get(json_get(v, "timings"), "predicted_ms"));
	*prompt_tokens = d.prompt_tokens;
	arena_fini(&mem);
	buf_fini(&answer);
	buf_fini(&body);
	buf_fini(&prompt);
	return rc;
}
