/* infer-run/earlier.c - requests of a batch that earlier runs have answered. */
#include "earlier.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void earlier_init(struct earlier *e, const struct run_opts *o)
{
	*e = (struct earlier){ .o = o };
	seen_init(&e->done, MEM_BASE, 0);
	seen_init(&e->done_lines, MEM_BASE, 0);
	seen_init(&e->asked, MEM_BASE, 0);
	seen_init(&e->wanted, MEM_BASE, 0);
	buf_init(&e->name, MEM_BASE);
}

void earlier_end(struct earlier *e)
{
	seen_fini(&e->asked);
	seen_fini(&e->wanted);
}

void earlier_fini(struct earlier *e)
{
	earlier_end(e);
	seen_fini(&e->done);
	seen_fini(&e->done_lines);
	buf_fini(&e->name);
}

/* Return the key of a request: its id and the digest of its line. NULL: out of memory. */
static const struct buf *make_key(struct earlier *e, const char *id, const char *sha256)
{
	buf_clear(&e->name);
	buf_put(&e->name, id, strlen(id) + 1);
	buf_puts(&e->name, sha256);
	return e->name.bad ? NULL : &e->name;
}

static int add_key(struct earlier *e, struct seen *s, const char *id, const char *sha256)
{
	const struct buf *n = make_key(e, id, sha256);

	return n ? seen_add(s, n->at, n->len) : INFER_ENOMEM;
}

/* Return 1 if the set has the request, 0 if not, -1 if out of memory. */
static int has_key(struct earlier *e, const struct seen *s, const char *id, const char *sha256)
{
	const struct buf *n = make_key(e, id, sha256);

	return n ? seen_has(s, n->at, n->len) : -1;
}

int earlier_has(struct earlier *e, const infer_job *j)
{
	int has;

	if (!j->id)
		return seen_has(&e->done_lines, &j->line, sizeof j->line);
	has = has_key(e, &e->done, j->id, "");
	return has ? has : has_key(e, &e->done, j->id, j->request_sha256);
}

/* ---- the requests of this run */

/* Add a request of this run. Requests without an id may be duplicates.
 * INFER_EINVAL  the id occurs twice; INFER_ENOMEM */
static int add_asked(struct earlier *e, const infer_job *j)
{
	int rc = j->id ? seen_add(&e->asked, j->id, strlen(j->id)) : INFER_OK;

	e->n_asked++;
	if (rc || !e->o->resume)
		return rc;
	rc = add_key(e, &e->wanted, j->id ? j->id : "", j->request_sha256);
	return rc == INFER_EINVAL ? INFER_OK : rc;
}

/* Read one line of the input and add its request. */
static int scan_line(struct earlier *e, const char *line, size_t n, const struct lines *in,
                     const infer_job_reader *reader, infer_error *err)
{
	infer_job *j = NULL;
	int rc = infer_line_read(&j, line, n, in->number, INFER_LINE_ID, reader, err);

	if (!rc && !j->is_other)
		rc = add_asked(e, j);
	if (rc == INFER_EINVAL)
		rc = err_set(err, INFER_EFORMAT, "%s: line %lld: the id '%.80s' occurs twice",
		             in->name, (long long)j->line, j->id);
	else if (rc)
		err_nomem(err);
	infer_job_free(j);
	return rc;
}

int earlier_scan(struct earlier *e, struct lines *in, const infer_job_reader *reader,
                 infer_error *err)
{
	off_t from = lseek(in->fd, 0, SEEK_CUR);
	enum lines_got got = LINES_NONE;
	struct stat st;
	const char *at;
	size_t n;
	int rc = INFER_OK;

	if (fstat(in->fd, &st) || !S_ISREG(st.st_mode) || from < 0)
		return INFER_OK;
	while (!rc && !(rc = lines_next(in, -1, &got, &at, &n, err)) && got != LINES_END) {
		if (got == LINES_LONG)
			e->n_asked++;
		else if (!lines_blank(at, n))
			rc = scan_line(e, at, n, in, reader, err);
	}
	e->whole = !rc;
	lines_fini(in);
	lines_init(in, in->fd, in->name);
	if (!rc && lseek(in->fd, from, SEEK_SET) < 0)
		rc = err_errno(err, errno, "%s", in->name);
	return rc;
}

/* ---- the records */

/* Check that the record has the model and the options of this run, unless --mix is given. */
static int check_mix(const struct earlier *e, const struct infer_done *d, infer_error *err)
{
	const char *what = d->model_id && !infer_file_is(e->file, d->model_id) ? "another model"
	                   : d->options_sha256 && strcmp(d->options_sha256, e->options)
	                           ? "other options"
	                           : NULL;

	if (!what || e->o->mix)
		return INFER_OK;
	return err_set(err, INFER_EINVAL,
	               "%s: the record of '%.80s' was made with %s; --mix continues anyway",
	               e->o->resume, d->id ? d->id : "", what);
}

/* Return 1 if the record answers a request of this run, 0 if not, -1 if out of memory. */
static int is_wanted(struct earlier *e, const struct infer_done *d)
{
	if (d->request_sha256)
		return has_key(e, &e->wanted, d->id ? d->id : "", d->request_sha256);
	return d->id && seen_has(&e->asked, d->id, strlen(d->id));
}

int earlier_add(void *user, struct infer_done *d, infer_error *err)
{
	struct earlier *e = user;
	int wanted = is_wanted(e, d),
	    asked = d->id ? seen_has(&e->asked, d->id, strlen(d->id)) : e->whole, rc;

	if (wanted < 0)
		return err_nomem(err);
	d->drop = (d->request_sha256 && asked && !wanted) || (d->failed && e->o->retry_errors);
	if (d->drop)
		return INFER_OK;
	TRY(check_mix(e, d, err));
	rc = d->id ? add_key(e, &e->done, d->id, d->request_sha256 ? d->request_sha256 : "")
	           : seen_add(&e->done_lines, &d->line, sizeof d->line);
	e->failed += d->failed;
	e->records++;
	e->there += wanted;
	return rc == INFER_ENOMEM ? err_nomem(err) : INFER_OK;
}
