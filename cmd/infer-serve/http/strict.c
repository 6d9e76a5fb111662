/* infer-serve/http/strict.c - the rules of RFC 9112 for heads that libmicrohttpd before 1.0 does
 * not check. */
#include "infer-serve/http/strict.h"
#include "infer-serve/http/head.h"
#include <infer/job.h>

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

static const char bad_target[] = "the request target must be a path or an http URL (RFC 9112 3.2)";

/* ---- the target ---- */

/* Return the length of an absolute URL before its path; 0: not an absolute URL. */
static size_t find_path(const char *target)
{
	size_t n = !strncasecmp(target, "http://", 7)    ? 7
	           : !strncasecmp(target, "https://", 8) ? 8
	                                                 : 0;
	size_t host = n ? strcspn(target + n, "/?") : 0;

	return host && head_is_host(target + n, host) && !memchr(target + n, '%', host) ? n + host
	                                                                                : 0;
}

static void refuse_target(struct strict_target *t, int kind, const char *why)
{
	t->kind = kind;
	t->why = why;
}

void strict_target(struct strict_target *t, const char *target)
{
	size_t arguments = 1;

	*t = (struct strict_target){ .n = target ? strlen(target) : 0 };
	if (!t->n) {
		refuse_target(t, INFER_FAULT_INVALID, bad_target);
		return;
	}
	for (const char *c = target; *c; c++) {
		if ((unsigned char)*c <= ' ' || *c == 0x7f || *c == '#')
			refuse_target(t, INFER_FAULT_INVALID,
			              "the request target must not contain white space, control "
			              "characters or '#' (RFC 9112 3.2)");
		arguments += *c == '&';
	}
	if (t->kind)
		return;
	if (t->n > STRICT_TARGET)
		refuse_target(t, INFER_FAULT_TARGET, "the request target must have at most 16 KiB");
	else if (arguments > STRICT_ARGUMENTS)
		refuse_target(t, INFER_FAULT_TARGET,
		              "the request target must have at most 64 arguments");
	else if (*target != '/' && strcmp(target, "*") && !(t->path = find_path(target)))
		refuse_target(t, INFER_FAULT_INVALID, bad_target);
}

/* ---- fields ---- */

struct fields {
	const char *at; /* start of the next line, if lines are contiguous; NULL: unknown */
	int n, hosts, lengths, codings, encoded;
	const char *host, *coding;
	size_t origin;
	const char *why; /* why a field is malformed; NULL: none is */
};

static int is_token(const char *at, size_t n)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < n; i++) {
		char c = at[i];
		int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!letter && !(c >= '0' && c <= '9') && (!c || !strchr(marks, c)))
			return 0;
	}
	return n > 0;
}

/* True if no byte is a control character, other than the tab. */
static int is_field_text(const char *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)at[i] < ' ' && at[i] != '\t') || at[i] == 0x7f)
			return 0;
	return 1;
}

static int is_named(const char *key, size_t n, const char *name)
{
	return n == strlen(name) && !strncasecmp(key, name, n);
}

/* True if a field begins directly after the previous one. libmicrohttpd 0.9.7x leaves the lines of a head
 * where they arrived, and replaces the colon and the line ends by NUL. If a field does not begin two
 * bytes after the previous one, the head has a NUL in a value, a line feed without carriage return, or a
 * folded line. */
static int is_next(struct fields *f, const char *key, size_t key_n, const char *value, size_t n)
{
	int ok = !f->at || (key == f->at && value > key + key_n && value - key < STRICT_POOL);

	if (f->at)
		f->at = value + n + 2;
	return ok;
}

static enum MHD_Result record_field(void *user, enum MHD_ValueKind kind, const char *key,
                                    size_t key_n, const char *value, size_t n)
{
	struct fields *f = user;

	(void)kind;
	if (!value) {
		value = "";
		n = 0;
	}
	f->n++;
	if (!is_next(f, key, key_n, value, n))
		f->why = "the head must not contain NUL, folded lines, or line feeds without "
			 "carriage returns (RFC 9112 2.2, 5.2)";
	else if (!is_token(key, key_n))
		f->why = "the name of a field must be letters, digits and marks, without white "
			 "space (RFC 9112 5.1)";
	else if (!is_field_text(value, n))
		f->why = "the value of a field must not contain control characters (RFC 9110 5.5)";
	if (is_named(key, key_n, "Host")) {
		f->hosts++;
		f->host = value;
	} else if (is_named(key, key_n, "Content-Length")) {
		f->lengths++;
	} else if (is_named(key, key_n, "Transfer-Encoding")) {
		f->codings++;
		f->coding = value;
	} else if (is_named(key, key_n, "Content-Encoding")) {
		f->encoded |= *value && strcasecmp(value, "identity");
	} else if (is_named(key, key_n, "Origin")) {
		f->origin = n;
	}
	return f->why ? MHD_NO : MHD_YES;
}

/* ---- framing ---- */

static const char *refuse_head(int *kind, int why, const char *text)
{
	*kind = why;
	return text;
}

/* Check Transfer-Encoding: only the single coding `chunked` is supported. Returns why it is refused, or
 * NULL. */
static const char *check_coding(const struct fields *f, const char *version, int *kind)
{
	static const char chunked[] = "chunked";
	size_t n, known = 0, all = 0;

	if (f->lengths)
		return refuse_head(kind, INFER_FAULT_INVALID,
		                   "a request must not have both Content-Length and "
		                   "Transfer-Encoding (RFC 9112 6.1)");
	if (!strcmp(version, "HTTP/1.0"))
		return refuse_head(
			kind, INFER_FAULT_INVALID,
			"Transfer-Encoding must not be used before HTTP/1.1 (RFC 9112 6.1)");
	if (f->codings == 1 && !strcasecmp(f->coding, chunked))
		return NULL;
	for (const char *at = f->coding; *at; at += n) {
		at += strspn(at, ", \t");
		n = strcspn(at, ", \t");
		all += n > 0;
		known += n == sizeof chunked - 1 && !strncasecmp(at, chunked, n);
	}
	if (f->codings == 1 && all > known)
		return refuse_head(kind, INFER_FAULT_OFF,
		                   "the only Transfer-Encoding that is implemented is chunked (RFC "
		                   "9112 6.1)");
	return refuse_head(kind, INFER_FAULT_INVALID,
	                   "Transfer-Encoding must be chunked, once, without white space after it "
	                   "(RFC 9112 6.1, 7)");
}

static const char *check_host(const struct fields *f, const struct strict_request *r, int *kind)
{
	const char *authority = strstr(r->url, "://");
	size_t n = 0;

	*kind = INFER_FAULT_INVALID;
	if (f->hosts > 1)
		return "a request must have one Host field (RFC 9112 3.2)";
	if (!f->hosts)
		return strcmp(r->version, "HTTP/1.0") ? "a request of HTTP/1.1 must have a Host "
		                                        "field (RFC 9112 3.2)"
		                                      : NULL;
	if (!head_is_host(f->host, strlen(f->host)))
		return "the Host field must be a name or an address, with or without a port "
		       "(RFC 9110 7.2)";
	if (r->target->path && authority) {
		authority += 3;
		n = r->target->path - (size_t)(authority - r->url);
		if (strlen(f->host) != n || strncasecmp(f->host, authority, n))
			return "the Host field must name the host of the request target (RFC 9112 "
			       "3.2)";
	}
	return NULL;
}

/* Return the start of the first field, or NULL if the request line has an unexpected form. */
static const char *end_of_line(const struct strict_request *r)
{
	size_t version = strlen(r->version);

	if (r->url != r->method + strlen(r->method) + 1 ||
	    r->version != r->url + r->target->n + 1 || version != 8)
		return NULL;
	return r->version + version + 2;
}

/* True if this libmicrohttpd leaves lines where they arrived (is_next). */
static int keeps_lines_in_place(void) { return !strncmp(MHD_get_version(), "0.9.7", 5); }

static const char *check_size(const struct fields *f, size_t size, int *kind)
{
	*kind = INFER_FAULT_HEAD;
	return size > STRICT_HEAD          ? "the head of a request must have at most 32 KiB"
	       : f->n > STRICT_FIELDS      ? "the head of a request must have at most 200 fields"
	       : f->origin > STRICT_ORIGIN ? "the field Origin must have at most 1 KiB"
	                                   : NULL;
}

const char *strict_head(const struct strict_request *r, int *kind)
{
	const union MHD_ConnectionInfo *size =
		MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	struct fields f = { .at = keeps_lines_in_place() ? end_of_line(r) : NULL };
	const char *why;

	*kind = INFER_FAULT_INVALID;
	if (r->target->kind)
		return refuse_head(kind, r->target->kind, r->target->why);
	if (!is_token(r->method, strlen(r->method)))
		return "the method must be letters, digits and marks (RFC 9110 9.1)";
	if (keeps_lines_in_place() && !f.at)
		return "the request line must be method, target and version, each after one space "
		       "(RFC 9112 3)";
	MHD_get_connection_values_n(r->connection, MHD_HEADER_KIND, record_field, &f);
	if (f.why)
		return f.why;
	if (f.at && (!size || f.at + 2 != r->method + size->header_size))
		return "the head must not contain NUL, folded lines, or line feeds without "
		       "carriage "
		       "returns (RFC 9112 2.2, 5.2)";
	if (f.lengths > 1)
		return "a request must have one Content-Length (RFC 9112 6.3)";
	if (f.codings && (why = check_coding(&f, r->version, kind)))
		return why;
	if ((why = check_host(&f, r, kind)))
		return why;
	if (f.encoded)
		return refuse_head(kind, INFER_FAULT_MEDIA_TYPE,
		                   "the body must not be compressed: Content-Encoding is not "
		                   "implemented");
	return check_size(&f, size ? size->header_size : 0, kind);
}
