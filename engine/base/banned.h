/* Functions that must not be used; the last include of every source, since it has to follow the system's headers.
 * What to use instead: snprintf or buf_printf for the string functions, localtime_r, strtok_r, strerror_r through err.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_BASE_BANNED_H
#define INDUCTOP_BASE_BANNED_H

#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf
#undef gets
#undef strtok
#undef gmtime
#undef localtime
#undef ctime
#undef asctime
#undef atoi
#undef atol
#undef atof

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok gmtime localtime ctime asctime atoi atol atof

#endif
