/* hub/range.h (private) - a file while it is downloaded in pieces, and its state on disk.
 *
 * The file has bytes [0, bytes) at their places, and after them a footer: the name of the format, the ETag,
 * the sizes, and for each piece the number of bytes from its start that are there.  A count is written
 * after the bytes that it counts, so after a kill -9 at any moment the counts are true or too low.  After
 * a power cut they may be too high: then the hash at the end differs, and the download begins anew.  A
 * file without a footer and of the right size is complete; any other content is discarded. */
#ifndef HUB_RANGE_H
#define HUB_RANGE_H
#include "base/sha1.h"
#include "base/sha256.h"
#include "hub/net.h"

struct hub_piece {
	uint64_t got;   /* bytes that are there, from its start */
	uint64_t saved; /* the same, in the footer */
	int active;     /* a request fetches it */
};
struct hub_ranges {
	int fd;
	uint64_t bytes, piece;
	char etag[72];
	int is_lfs;
	struct hub_piece *at;
	size_t n;
	uint64_t have;    /* bytes that are there */
	uint64_t resumed; /* of these, from an earlier download */
	/* the hash of the content [0, hashed) */
	uint64_t hashed;
	struct sha256 sha256;
	struct sha1 sha1;
	uint8_t *room;
};
/* Read the state in fd, or begin anew.
 * INFER_EIO, INFER_ENOMEM */
int hub_ranges_open(struct hub_ranges *r, int fd, const struct hub_file_info *i, uint64_t piece,
                    infer_error *err);
void hub_ranges_fini(struct hub_ranges *r);
/* Discard the content and begin anew. */
int hub_ranges_reset(struct hub_ranges *r, infer_error *err);

uint64_t hub_ranges_bytes(const struct hub_ranges *r, size_t piece); /* of this piece, when whole */
/* The first piece that is not whole and not active, or r->n. */
size_t hub_ranges_next(const struct hub_ranges *r);
/* Store the bytes at offset `at` of the file, except those that are there already. */
int hub_ranges_put(struct hub_ranges *r, uint64_t at, const void *bytes, size_t n,
                   infer_error *err);
/* Write the counts that have changed to the footer. */
int hub_ranges_save(struct hub_ranges *r, infer_error *err);
/* Hash at most `most` bytes that follow the hashed ones and are there. */
int hub_ranges_hash(struct hub_ranges *r, uint64_t most, infer_error *err);
/* All is there and hashed: compare the hash with the ETag, and remove the footer.  *same 0: it differs. */
int hub_ranges_end(struct hub_ranges *r, int *same, infer_error *err);
#endif
