// Sends messages to a topic and consumes them with the client ali-ons. Arguments: the name servers separated by ";", the
// topic, a name for the groups, and how many messages. It ends with 0 when all came back.
'use strict';

const { Consumer, Message, Producer } = require('ali-ons');

const [nameServers, topic, name, count] = process.argv.slice(2);
const patience = 60 * 1000; // milliseconds

const quiet = { debug() {}, info() {}, warn: console.warn, error: console.error };
const options = {
  nameSrv: nameServers.split(';'),
  httpclient: { async request() { throw new Error('there is no address service'); } },
  accessKeyId: 'a',
  accessKeySecret: 'b',
  logger: quiet,
};

async function main() {
  const missing = new Set();
  for (let i = 0; i < Number(count); i++) missing.add(`${name}-${i}`);

  const producer = new Producer({ ...options, producerGroup: `p-${name}` });
  await producer.ready();
  for (const body of [...missing]) {
    const result = await producer.send(new Message(topic, body));
    if (result.sendStatus !== 'SEND_OK') throw new Error(`message ${body}: ${JSON.stringify(result)}`);
  }
  console.log('all sent');

  const consumer = new Consumer({ ...options, consumerGroup: `c-${name}`, consumeFromWhere: 'CONSUME_FROM_FIRST_OFFSET' });
  consumer.on('error', err => console.error(err));
  await new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`${missing.size} messages did not come back`)), patience);
    consumer.subscribe(topic, '*', async message => {
      missing.delete(message.body.toString());
      if (missing.size === 0) resolve();
    });
  });
  console.log('all consumed');
}

main().then(() => process.exit(0), err => {
  console.error(err);
  process.exit(1);
});
