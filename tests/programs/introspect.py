"""introspect.py BASE SECRET LIVE ENDED: asks about tokens with authlib, then revokes one."""
import json
import sys

from authlib.integrations.httpx_client import OAuth2Client

base, secret, live, ended = sys.argv[1:]
introspect = f"{base}/api/v1/auth/introspect"
revoke = f"{base}/api/v1/auth/revoke"


def connect(method, key=secret):
    return OAuth2Client(
        "any client",
        key,
        token_endpoint_auth_method=method,
        revocation_endpoint_auth_method=method,
        trust_env=False,
    )


answers = {}
for name in ("basic", "post"):
    with connect(f"client_secret_{name}") as client:
        answers[name] = {
            "live": client.introspect_token(introspect, token=live).json(),
            "ended": client.introspect_token(introspect, token=ended, token_type_hint="access_token").json(),
        }
with connect("client_secret_basic", "wrong") as stranger:
    refused = stranger.introspect_token(introspect, token=live)
    answers["stranger"] = refused.headers["WWW-Authenticate"].split(" ")[0].lower()
with connect("client_secret_basic") as client:
    assert client.revoke_token(revoke, token=live).status_code == 200
    assert client.revoke_token(revoke, token=live).status_code == 200
    answers["revoked"] = client.introspect_token(introspect, token=live).json()
print(json.dumps(answers))
