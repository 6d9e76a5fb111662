/* infer-serve/http/answer.c - the answer of an exchange goes to its connection. */
#include "infer-serve/http/answer.h"
#include "infer-serve/batch/files.h"
#include "infer-serve/http/headers.h"
#include "infer-serve/http/sse.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { BLOCK = 16 << 10 };

/* The next events of a stream, called by libmicrohttpd where it can send. */
static ssize_t read_stream(void *user, uint64_t at, char *to, size_t room)
{
	struct exchange *x = user;
	struct server *s = x->server;
	ssize_t n = 0;

	(void)at;
	pthread_mutex_lock(&s->lock);
	if (x->out.len > (size_t)x->out_sent && !x->gone) {
		size_t left = x->out.len - x->out_sent;

		n = (ssize_t)sse_cut(x->out.at + x->out_sent, left, room);
		memcpy(to, x->out.at + x->out_sent, (size_t)n);
		x->out_sent += (size_t)n;
		x->sent += n;
		if (x->out_sent == x->out.len) {
			buf_clear(&x->out);
			x->out_sent = 0;
		}
	} else if (x->gone || s->closing) {
		n = MHD_CONTENT_READER_END_WITH_ERROR;
	} else if (x->ended) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else {
		x->suspended = 1;
		MHD_suspend_connection(x->connection);
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

enum MHD_Result answer_send(struct exchange *x, struct MHD_Connection *c)
{
	int is_file = x->file >= 0;
	struct MHD_Response *r =
		is_file ? files_response(x)
		: x->stage == STAGE_STREAM
			? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, x,
	                                                    NULL)
			: MHD_create_response_from_buffer(x->out.len, x->out.at ? x->out.at : "",
	                                                  MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ok;

	if (!r)
		return MHD_NO;
	headers_put(r, x);
	if (x->stage == STAGE_ANSWER && !is_file)
		x->sent = x->head ? 0 : (int64_t)x->out.len;
	ok = MHD_queue_response(c, (unsigned)x->status, r);
	MHD_destroy_response(r);
	return ok;
}

enum MHD_Result answer_preflight(struct exchange *x, struct MHD_Connection *c)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ok;

	if (!r)
		return MHD_NO;
	x->status = 200;
	x->stage = STAGE_ANSWER;
	headers_put(r, x);
	MHD_add_response_header(r, "Access-Control-Allow-Credentials", "true");
	MHD_add_response_header(r, "Access-Control-Allow-Methods",
	                        strstr(x->allow, "DELETE") ? "GET, POST, DELETE" : "GET, POST");
	MHD_add_response_header(r, "Access-Control-Allow-Headers", "*");
	MHD_add_response_header(r, "Allow", x->allow);
	ok = MHD_queue_response(c, 200, r);
	MHD_destroy_response(r);
	return ok;
}

void answer_raw(struct exchange *x, int kind, const char *reason, const char *message)
{
	struct infer_fault f = { .kind = kind };
	struct buf error, all;

	snprintf(f.error.message, sizeof f.error.message, "%s", message);
	buf_init(&error, MEM_BASE);
	buf_init(&all, MEM_BASE);
	exchange_error(&error, x, &f);
	buf_printf(&all,
	           "HTTP/1.1 %d %s\r\nServer: infer-serve\r\nX-Request-Id: %s\r\nContent-Type: "
	           "%s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
	           infer_fault_status(kind), reason, x->id, exchange_json, error.len);
	buf_put(&all, error.at ? error.at : "", error.len);
	/* under TLS nobody else can write to the connection: it only ends */
	if (!error.bad && !all.bad && !x->server->cert.len &&
	    send(x->fd, all.at, all.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		/* the client is gone, or does not read: it only sees the end */
	}
	x->status = infer_fault_status(kind);
	x->is_raw = 1;
	x->deadline_ns = 0;
	shutdown(x->fd, SHUT_RDWR);
	buf_fini(&error);
	buf_fini(&all);
}
