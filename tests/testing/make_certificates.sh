#!/usr/bin/env bash
# make_certificates.sh FOLDER: authorities and certificates for tests, each as NAME.pem
# and NAME.key, into a folder that is there.
#   ca, other_ca     authorities; what follows is signed by ca unless it says otherwise
#   weak_ca          an authority with a key that is too short for OpenSSL's defaults
#   server           of localhost, 127.0.0.1 and ::1
#   named            of packer.example alone
#   expired          as server, out of date
#   client           a trainer's: CN=client, DNS trainer.example
#   stranger         as client, signed by other_ca
#   expired_client   as client, out of date
set -eEuo pipefail
cd "$1"

key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
here="DNS:localhost,IP:127.0.0.1,IP:::1"
trainer="DNS:trainer.example"

authority() { # NAME [NEW_KEY...]
  openssl req -x509 "${@:2}" -keyout "$1.key" -out "$1.pem" -days 30 \
    -subj "/O=Evenpack tests/CN=$1" 2>openssl.log
}

certificate() { # NAME AUTHORITY SUBJECT_ALTERNATIVE_NAMES DAYS
  openssl req "${key[@]}" -keyout "$1.key" -out request.csr \
    -subj "/O=Evenpack tests/CN=$1" 2>openssl.log
  echo "subjectAltName=$3" >extensions
  openssl x509 -req -in request.csr -CA "$2.pem" -CAkey "$2.key" -days "$4" \
    -set_serial "0x$(openssl rand -hex 8)" -extfile extensions -out "$1.pem" \
    2>openssl.log
}

make_all() {
  authority ca "${key[@]}"
  authority other_ca "${key[@]}"
  authority weak_ca -newkey rsa:1024 -nodes
  certificate server ca "$here" 30
  certificate named ca "DNS:packer.example" 30
  certificate expired ca "$here" -1
  certificate client ca "$trainer" 30
  certificate stranger other_ca "$trainer" 30
  certificate expired_client ca "$trainer" -1
}

trap 'cat openssl.log >&2' ERR
make_all
rm openssl.log request.csr extensions
