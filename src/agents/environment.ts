/** Variables that any program needs, none of them secret. */
const plain = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR"];
const network = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];
const trust = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

/** Filters the environment by an allow-list (T19), so that an agent does not inherit the server's secrets. */
export function allowed(
  environment: Record<string, string | undefined>,
  names: readonly string[],
): Record<string, string> {
  const wanted = new Set([...plain, ...network, ...trust, ...names]);
  const kept = Object.entries(environment).filter(([name, value]) => value !== undefined && wanted.has(name));
  return Object.fromEntries(kept) as Record<string, string>;
}
