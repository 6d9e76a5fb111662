/* infer-serve/http/form.h - parse a body of type multipart/form-data (RFC 7578, RFC 2046) that arrives in
 * pieces; the result does not depend on how it is cut.  Confined. */
#ifndef INFER_SERVE_HTTP_FORM_H
#define INFER_SERVE_HTTP_FORM_H
#include <stddef.h>

enum {
	FORM_BOUNDARY = 70, /* limit: bytes of the boundary (RFC 2046 5.1.1) */
	FORM_HEAD = 4096,   /* limit: bytes of the head of a part */
};
enum form_state {
	FORM_BEFORE,    /* before the first delimiter */
	FORM_DELIMITER, /* after a delimiter, whose line has not ended */
	FORM_FIELDS,    /* in the head of a part */
	FORM_DATA,      /* in the contents of a part */
	FORM_ENDED,     /* after the last delimiter */
	FORM_BROKEN,    /* the body is not a form */
};
/* Called for each part. */
struct form_calls {
	/* A part begins. filename NULL: it has none */
	void (*begin)(void *user, const char *name, const char *filename);
	/* More of its contents, n > 0 bytes. */
	void (*data)(void *user, const char *at, size_t n);
};
struct form {
	const struct form_calls *calls;
	void *user;
	enum form_state state;
	char delimiter[FORM_BOUNDARY + 5]; /* CR LF, two hyphens, the boundary */
	size_t delimiter_n;
	size_t matched; /* bytes of the delimiter that were read last */
	char line[2];   /* DELIMITER: the bytes of the line's end so far */
	size_t line_n;
	char head[FORM_HEAD]; /* FIELDS: the head so far */
	size_t head_n;
};

/* Initialise *f. type: value of Content-Type. Returns 0 if it is not multipart/form-data with a boundary. */
int form_open(struct form *f, const char *type, const struct form_calls *calls, void *user);
/* Parse the next n bytes. Errors set the state to FORM_BROKEN. */
void form_put(struct form *f, const char *at, size_t n);
#endif
