/* infer-serve/batch/batch_lines.c - read the input of a batch and the answers already written. */
#include "infer-serve/batch/batch_lines.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* PIECE: bytes of a read. LINES: limit for the lines of a batch. FAULTS: errors reported at most.
 * ANSWER_MOST: limit for an answer, bytes. */
enum { PIECE = 64 << 10, LINES = 50000, FAULTS = 20, ANSWER_MOST = 1 << 30 };

/* ---- lines ---- */

void batch_input_init(struct batch_input *in, int fd, size_t longest)
{
	*in = (struct batch_input){ .fd = fd, .longest = longest };
	buf_init(&in->text, MEM_BASE);
}

void batch_input_fini(struct batch_input *in) { buf_fini(&in->text); }

/* Move the unread text to the front and append the next bytes of the file. */
static int read_more(struct batch_input *in, infer_error *err)
{
	char piece[PIECE];
	ssize_t n;

	if (in->at) {
		memmove(in->text.at, in->text.at + in->at, in->text.len - in->at);
		in->text.len -= in->at;
		in->at = 0;
	}
	n = pread(in->fd, piece, sizeof piece, (off_t)in->offset);
	if (n < 0)
		return err_set(err, INFER_EIO, "cannot read: %s", strerror(errno));
	in->over = !n;
	in->offset += n;
	buf_put(&in->text, piece, (size_t)n);
	return in->text.bad ? err_set(err, INFER_ENOMEM, "out of memory for a line") : INFER_OK;
}

int batch_input_next(struct batch_input *in, const char **at, size_t *n, int *whole,
                     infer_error *err)
{
	size_t looked = 0;
	const char *end = NULL;

	for (;;) {
		size_t have = in->text.len - in->at;
		const char *from = have ? in->text.at + in->at : "";

		end = have > looked ? memchr(from + looked, '\n', have - looked) : NULL;
		if (end || (in->over && have)) {
			*at = from;
			*n = end ? (size_t)(end - from) : have;
			*whole = end != NULL;
			in->at += *n + (end != NULL);
			in->number++;
			return 1;
		}
		if (in->over)
			return 0;
		if (have > in->longest) {
			err_set(err, INFER_EFORMAT, "line %lld is longer than %zu bytes",
			        (long long)in->number + 1, in->longest);
			return -1;
		}
		looked = have;
		if (read_more(in, err))
			return -1;
	}
}

static int is_blank_line(const char *at, size_t n)
{
	while (n && strchr(" \t\r", at[n - 1]))
		n--;
	return !n;
}

static int refuse_line(struct batch_line *l, const char *code, const char *param,
                       const char *message)
{
	l->code = code;
	l->param = param;
	snprintf(l->message, sizeof l->message, "%s", message);
	return INFER_EINVAL;
}

int batch_line_read(struct batch_line *l, struct arena *mem, const char *endpoint, const char *at,
                    size_t n)
{
	const struct json *o;
	infer_error err;
	int rc = jread(&o, mem, at, n, "request", &err);

	*l = (struct batch_line){ .id = NULL };
	if (rc == INFER_ENOMEM)
		return rc;
	if (rc)
		return refuse_line(l, "invalid_json_line", NULL, err.message);
	if (!json_is_object(o))
		return refuse_line(l, "invalid_json_line", NULL, "the line must be an object");
	l->id = json_get(o, "custom_id");
	l->body = json_get(o, "body");
	if (!json_is_string(l->id) || !l->id->n || memchr(l->id->s, 0, l->id->n))
		return refuse_line(l, "missing_required_parameter", "custom_id",
		                   "custom_id must be a string that is not empty");
	if (!json_equals(json_get(o, "method"), "POST"))
		return refuse_line(l, "invalid_method", "method", "method must be POST");
	if (!json_equals(json_get(o, "url"), endpoint))
		return refuse_line(l, "mismatched_url", "url",
		                   "url must be the endpoint of the batch");
	if (!json_is_object(l->body))
		return refuse_line(l, "missing_required_parameter", "body",
		                   "body must be an object");
	return INFER_OK;
}

/* ---- validation ---- */

static void put_line_fault(struct jwrite *w, const char *code, const char *message,
                           const char *param, int64_t line)
{
	jw_object(w, NULL);
	jw_str(w, "code", code);
	jw_str(w, "message", message);
	jw_str(w, "param", param);
	if (line)
		jw_int(w, "line", line);
	else
		jw_null(w, "line");
	jw_end(w);
}

struct check {
	const struct batch *b;
	struct batch_input in;
	struct seen ids;
	struct arena mem;
	struct jwrite w;
	int faults;
	int64_t total;
};

static int check_line(struct check *c, const char *at, size_t n)
{
	struct batch_line l;
	int rc;

	arena_reset(&c->mem);
	rc = batch_line_read(&l, &c->mem, c->b->endpoint, at, n);
	if (!rc && (rc = seen_add(&c->ids, l.id->s, l.id->n)) == INFER_EINVAL)
		(void)refuse_line(&l, "duplicate_custom_id", "custom_id",
		                  "custom_id must be unique");
	if (rc == INFER_ENOMEM)
		return rc;
	if (rc && c->faults++ < FAULTS)
		put_line_fault(&c->w, l.code, l.message, l.param, c->in.number);
	c->total++;
	return INFER_OK;
}

static int check_lines(struct check *c, infer_error *err)
{
	const char *at;
	int whole, got, rc = INFER_OK;
	infer_error e;
	size_t n;

	while (!rc && c->total <= LINES && (got = batch_input_next(&c->in, &at, &n, &whole, &e))) {
		if (got < 0 && e.code != INFER_EFORMAT)
			return err_set(err, e.code, "%s", e.message);
		if (got < 0) {
			c->faults++;
			put_line_fault(&c->w, "invalid_json_line", e.message, NULL,
			               c->in.number + 1);
			return INFER_OK;
		}
		if (!is_blank_line(at, n))
			rc = check_line(c, at, n);
	}
	if (rc)
		return err_set(err, rc, "out of memory for a batch");
	if (c->total > LINES && ++c->faults)
		put_line_fault(&c->w, "too_many_tasks", "a batch must have at most 50000 lines",
		               NULL, 0);
	if (!c->total && ++c->faults)
		put_line_fault(&c->w, "empty_file", "the file must have at least one line", NULL,
		               0);
	return INFER_OK;
}

int batch_validate(char **faults, int64_t *total, const struct batch *b, int fd, size_t longest,
                   infer_error *err)
{
	struct check c = { .b = b };
	struct buf text;
	int rc;

	*faults = NULL;
	buf_init(&text, MEM_BASE);
	arena_init(&c.mem, MEM_BASE);
	seen_init(&c.ids, MEM_BASE, 0);
	batch_input_init(&c.in, fd, longest);
	jw_init(&c.w, &text);
	jw_object(&c.w, NULL);
	jw_str(&c.w, "object", "list");
	jw_array(&c.w, "data");
	rc = check_lines(&c, err);
	jw_end(&c.w);
	jw_end(&c.w);
	*total = c.total;
	if (!rc && c.faults) {
		*faults = text.bad ? NULL : mem_strndup(MEM_BASE, text.at, text.len);
		if (!*faults)
			rc = err_set(err, INFER_ENOMEM, "out of memory for a batch");
	}
	batch_input_fini(&c.in);
	seen_fini(&c.ids);
	arena_fini(&c.mem);
	buf_fini(&text);
	return rc;
}

/* ---- answers ---- */

int batch_answered(struct seen *ids, int64_t *n, int fd, infer_error *err)
{
	struct batch_input in;
	struct arena mem;
	const struct json *o, *id;
	const char *at;
	int64_t good = 0;
	size_t bytes;
	int whole, got = 0, rc = INFER_OK;

	*n = 0;
	arena_init(&mem, MEM_BASE);
	batch_input_init(&in, fd, ANSWER_MOST);
	while (!rc && (got = batch_input_next(&in, &at, &bytes, &whole, err)) > 0 && whole) {
		arena_reset(&mem);
		rc = jread(&o, &mem, at, bytes, "answer", err);
		id = rc ? NULL : json_get(o, "custom_id");
		if (rc == INFER_ENOMEM || (!rc && !json_is_string(id)))
			break;
		if (!rc)
			rc = seen_add(ids, id->s, id->n);
		if (!rc) {
			good += (int64_t)bytes + 1;
			++*n;
		}
	}
	batch_input_fini(&in);
	arena_fini(&mem);
	if (got < 0)
		return err->code;
	if (rc == INFER_ENOMEM)
		return err_set(err, rc, "out of memory for a batch");
	/* drop the incomplete last line, left when the process ended */
	if (ftruncate(fd, (off_t)good))
		return err_set(err, INFER_EIO, "cannot truncate a file: %s", strerror(errno));
	return INFER_OK;
}
