/*
 * network.c - the interfaces of this machine, as it knows them itself
 */
#include "system.h"
#include "iops/anon.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = ANON_MAX };

/* The hardware's address tells who made it and which one it is. */
static const char *mac(const struct anon *a, const struct sockaddr_ll *ll, char *out)
{
	char text[3 * 255 + 1] = "";
	bool blank = true;

	for (int i = 0; i < ll->sll_halen && i < (int)sizeof(ll->sll_addr); i++) {
		sprintf(text + 3 * i - !!i, "%s%02x", i ? ":" : "", ll->sll_addr[i]);
		blank &= ll->sll_addr[i] == 0 || ll->sll_addr[i] == 0xff;
	}
	if (a && !blank)
		return anon_text(a, text, out);
	return strcpy(out, text);
}

/* An address as text; "" for one of another kind. */
static const char *address(const struct anon *a, const struct sockaddr *s, char *out)
{
	const void *addr = NULL;

	*out = 0;
	if (s && s->sa_family == AF_PACKET)
		return mac(a, (const void *)s, out);
	if (s && s->sa_family == AF_INET)
		addr = &((const struct sockaddr_in *)s)->sin_addr;
	if (s && s->sa_family == AF_INET6)
		addr = &((const struct sockaddr_in6 *)s)->sin6_addr;
	if (!addr)
		return out;
	return a ? anon_addr(a, s->sa_family, addr, out)
		 : inet_ntop(s->sa_family, addr, out, INET6_ADDRSTRLEN);
}

static const char *family(int number)
{
	switch (number) {
	case AF_INET:
		return "AF_INET";
	case AF_INET6:
		return "AF_INET6";
	case AF_PACKET:
		return "AF_PACKET";
	default:
		return "AF_UNSPEC";
	}
}

static void add_address(cJSON *list, const struct anon *a, const struct ifaddrs *i)
{
	cJSON *o = cJSON_CreateObject();
	char text[TEXT];

	system_text(o, "family", family(i->ifa_addr->sa_family));
	system_text(o, "address", address(a, i->ifa_addr, text));
	system_text(o, "netmask", address(NULL, i->ifa_netmask, text));
	system_text(o, "broadcast",
		i->ifa_flags & IFF_BROADCAST ? address(a, i->ifa_broadaddr, text) : "");
	cJSON_AddItemToArray(list, o);
}

static cJSON *add_interface(cJSON *all, const struct ifaddrs *i)
{
	char path[128];
	cJSON *o = cJSON_AddObjectToObject(all, i->ifa_name);

	cJSON_AddArrayToObject(o, "addresses");
	cJSON_AddBoolToObject(
		o, "is_up", i->ifa_flags & IFF_UP && i->ifa_flags & IFF_RUNNING);
	/* Where there is no speed, it is -1 or cannot be read. */
	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", i->ifa_name);
	system_count(o, "speed_mbps", system_number(path));
	snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", i->ifa_name);
	system_count(o, "mtu", system_number(path));
	return o;
}

cJSON *system_network(const struct anon *a)
{
	cJSON *o = cJSON_CreateObject(), *all = cJSON_AddObjectToObject(o, "interfaces");
	struct ifaddrs *list = NULL;

	if (getifaddrs(&list) < 0)
		list = NULL;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		cJSON *one = cJSON_GetObjectItemCaseSensitive(all, i->ifa_name);
		if (!one)
			one = add_interface(all, i);
		if (i->ifa_addr)
			add_address(cJSON_GetObjectItem(one, "addresses"), a, i);
	}
	freeifaddrs(list);
	system_host(o, a);
	return o;
}
