/* record/resume.c - read the records of an interrupted batch, to find the requests that are done */
#include "record/record.h"
#include "base/err.h"
#include "base/jread.h"

#include <stdio.h>
#include <string.h>

struct infer_resume {
	const char *name;
	infer_done_fn *done;
	void *user;
	struct arena mem; /* for one record at a time */
	struct buf text;  /* the beginning of an incomplete line */
	struct buf holes; /* struct infer_hole []: damaged or dropped lines */
	int64_t lines, records;
	int64_t whole; /* bytes of complete lines */
	int64_t at;    /* offset of the current line */
};

static int record_nomem(const char *name, infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "%s: out of memory", name);
}

static int64_t whole_of(const struct json *o, const char *key)
{
	const struct json *v = json_get(o, key);

	return json_is(v, JSON_INT) ? v->i : 0;
}

/* Read fields of the record or, in OpenAI's format, of its body. */
static void read_record_names(struct arena *a, struct infer_done *d, const struct json *o)
{
	const struct json *run = json_get(o, "run");

	d->request_sha256 = json_cstr(a, json_get(o, "request_sha256"));
	d->model_id = json_cstr(a, json_get(json_get(run, "model"), "id"));
	d->options_sha256 = json_cstr(a, json_get(run, "options_sha256"));
}

const char *record_id(struct arena *a, const struct json *v)
{
	char number[24];

	if (!json_is_whole(v))
		return json_cstr(a, v);
	if (v->kind == JSON_INT)
		snprintf(number, sizeof number, "%lld", (long long)v->i);
	else
		snprintf(number, sizeof number, "%llu", (unsigned long long)v->u);
	return arena_strndup(a, number, strlen(number));
}

static int is_kind(const struct json *v, enum infer_kind kind)
{
	return json_equals(v, infer_record_kind(kind)->name);
}

/* Return 0 if the record does not belong to a request. */
static int is_answer(struct arena *a, struct infer_done *d, const struct json *o)
{
	const struct json *kind = json_get(o, "kind"), *response = json_get(o, "response");

	*d = (struct infer_done){ .id = json_cstr(a, json_get(o, "custom_id")) };
	if (!json_is_string(kind) && d->id && json_is_object(response)) {
		read_record_names(a, d, json_get(response, "body"));
		d->failed = whole_of(response, "status_code") != 200;
		return 1;
	}
	read_record_names(a, d, o);
	d->id = record_id(a, json_get(o, "id"));
	d->failed = is_kind(kind, INFER_KIND_ERROR);
	if (d->failed)
		d->line = whole_of(o, "line");
	return d->failed || (d->id && (is_kind(kind, INFER_KIND_COMPLETION) ||
	                               is_kind(kind, INFER_KIND_EMBEDDING)));
}

/* True if a crash or truncation may have damaged the line: it begins like a record, or has zeros,
 * of pages that never reached the disk. */
static int is_half(const char *at, size_t n)
{
	return (n && memchr(at, 0, n)) ||
	       (n >= 2 && at[0] == '{' && (at[1] == '"' || at[1] == '{')) || (n == 1 && *at == '{');
}

static int is_blank_line(const char *at, size_t n)
{
	while (n && (at[n - 1] == ' ' || at[n - 1] == '\t' || at[n - 1] == '\r'))
		n--;
	return !n;
}

/* Remove a line of n bytes. */
static int drop(infer_resume *r, size_t n, infer_error *err)
{
	const struct infer_hole hole = { r->at, r->at + (int64_t)n + 1 };

	buf_put(&r->holes, &hole, sizeof hole);
	return r->holes.bad ? record_nomem(r->name, err) : INFER_OK;
}

static int no_record(infer_resume *r, const char *at, size_t n, infer_error *err)
{
	if (is_blank_line(at, n))
		return INFER_OK;
	if (!is_half(at, n))
		return err_set(err, INFER_EFORMAT, "%s: line %lld is not a record", r->name,
		               (long long)r->lines);
	return drop(r, n, err);
}

static int take_line(infer_resume *r, const char *at, size_t n, infer_error *err)
{
	struct infer_done d;
	int rc, answer;
	const struct json *o;

	r->lines++;
	arena_reset(&r->mem);
	rc = jread(&o, &r->mem, at, n, r->name, NULL);
	if (rc == INFER_ENOMEM)
		return record_nomem(r->name, err);
	if (!json_is_object(o))
		return no_record(r, at, n, err);
	answer = is_answer(&r->mem, &d, o);
	if (r->mem.bad)
		return record_nomem(r->name, err);
	if (answer)
		TRY(r->done(r->user, &d, err));
	r->records += !d.drop;
	return d.drop ? drop(r, n, err) : INFER_OK;
}

/* Process the complete lines of the text, and move the rest to its front. */
static int take_lines(infer_resume *r, infer_error *err)
{
	size_t from = 0;
	const char *end;

	while ((end = memchr(r->text.at + from, '\n', r->text.len - from))) {
		size_t n = (size_t)(end - r->text.at) - from;

		r->at = r->whole + (int64_t)from;
		TRY(take_line(r, r->text.at + from, n, err));
		from += n + 1;
	}
	r->whole += (int64_t)from;
	memmove(r->text.at, r->text.at + from, r->text.len - from);
	r->text.len -= from;
	return INFER_OK;
}

int infer_resume_put(infer_resume *r, const char *bytes, size_t n, infer_error *err)
{
	buf_put(&r->text, bytes, n);
	if (r->text.bad)
		return record_nomem(r->name, err);
	/* only new bytes can end a line */
	return n && memchr(bytes, '\n', n) ? take_lines(r, err) : INFER_OK;
}

int infer_resume_end(infer_resume *r, struct infer_resumed *got, infer_error *err)
{
	*got = (struct infer_resumed){
		.whole = r->whole,
		.records = r->records,
		.torn = r->text.len > 0,
		.holes = (const struct infer_hole *)(const void *)r->holes.at,
		.n_holes = r->holes.len / sizeof(struct infer_hole),
	};
	/* without a line end and without a record before it, this may be foreign text */
	if (!r->text.len || r->records || is_half(r->text.at, r->text.len))
		return INFER_OK;
	return err_set(err, INFER_EFORMAT, "%s: line %lld is not a record", r->name,
	               (long long)r->lines + 1);
}

int infer_resume_new(infer_resume **out, const char *name, infer_done_fn *done, void *user,
                     infer_error *err)
{
	infer_resume *r = mem_zalloc(MEM_RECORD, 1, sizeof *r);

	*out = r;
	if (!r)
		return record_nomem(name, err);
	r->name = name;
	r->done = done;
	r->user = user;
	arena_init(&r->mem, MEM_RECORD);
	buf_init(&r->text, MEM_RECORD);
	buf_init(&r->holes, MEM_RECORD);
	return INFER_OK;
}

void infer_resume_free(infer_resume *r)
{
	if (!r)
		return;
	arena_fini(&r->mem);
	buf_fini(&r->text);
	buf_fini(&r->holes);
	mem_free(r);
}
