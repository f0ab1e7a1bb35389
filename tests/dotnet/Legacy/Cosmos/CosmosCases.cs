using System.Net;

namespace Tidemark.Tests.Legacy;

/// Cases that this SDK alone has: LINQ, and a handler between it and the store.
public sealed class CosmosCases(FreshTable fresh) : IClassFixture<FreshTable>
{
    readonly CloudTable table = fresh.Table;
    readonly string partition = Stores.FreshName("p");

    public sealed class Employee : TableEntity
    {
        public string? Name { get; set; }
        public int Age { get; set; }
        public double Salary { get; set; }
        public bool Active { get; set; }
        public DateTime Since { get; set; }
        public Guid Badge { get; set; }
        public long Number { get; set; }
    }

    static readonly DateTime Begin = new(2024, 1, 1, 0, 0, 0, DateTimeKind.Utc);

    async Task Samples()
    {
        var batch = new TableBatchOperation();
        for (var i = 0; i < 10; i++)
        {
            batch.Insert(new Employee
            {
                PartitionKey = partition, RowKey = $"{i}", Name = $"it's {i}", Age = 20 + i, Salary = i / 2.0, Active = i % 2 == 0, Since = Begin.AddDays(i),
                Badge = new Guid(i, 0, 0, new byte[8]), Number = i * 10_000_000_000L,
            });
        }
        await table.ExecuteBatchAsync(batch);
    }

    static string Keys(IEnumerable<Employee> employees) => string.Join(" ", employees.Select(e => e.RowKey));

    [Fact]
    public async Task Linq()
    {
        await Samples();
        var mine = table.CreateQuery<Employee>().Where(e => e.PartitionKey == partition);
        Assert.Equal("7 8 9", Keys(mine.Where(e => e.Age >= 27).ToList()));
        Assert.Equal("3", Keys(mine.Where(e => e.Name == "it's 3").ToList()));
        Assert.Equal("9", Keys(mine.Where(e => e.Salary > 4.0 && !e.Active).ToList()));
        Assert.Equal("8 9", Keys(mine.Where(e => e.Since >= Begin.AddDays(8)).ToList()));
        var badge = new Guid(4, 0, 0, new byte[8]);
        Assert.Equal("4", Keys(mine.Where(e => e.Badge == badge).ToList()));
        Assert.Equal("0 1", Keys(mine.Where(e => e.Number < 20_000_000_000L).ToList()));
        Assert.Equal("4 5", Keys(mine.Where(e => e.RowKey.CompareTo("4") >= 0 && e.RowKey.CompareTo("6") < 0).ToList()));
        Assert.Equal(3, mine.Take(3).ToList().Count);
    }

    [Fact]
    public async Task Linq_with_a_projection()
    {
        await Samples();
        var names = (from e in table.CreateQuery<Employee>() where e.PartitionKey == partition && e.RowKey == "3" select new { e.Name, e.Age }).ToList();
        Assert.Equal(("it's 3", 23), (Assert.Single(names).Name, names[0].Age));
    }

    [Fact]
    public async Task A_resolver()
    {
        await Samples();
        var query = new TableQuery<Employee>().Where(TableQuery.GenerateFilterCondition("PartitionKey", QueryComparisons.Equal, partition));
        var found = await table.ExecuteQuerySegmentedAsync(query, (_, row, _, properties, _) => $"{row}:{properties["Age"].Int32Value}", null);
        Assert.Equal("0:20", found.Results[0]);
    }

    CloudTable Through(Wire wire) => new CloudTableClient(Stores.Tables, new StorageCredentials(Stores.Account, Stores.Key),
        new TableClientConfiguration { RestExecutorConfiguration = new RestExecutorConfiguration { DelegatingHandler = wire } }).GetTableReference(table.Name);

    static TableRequestOptions Repeating => new() { RetryPolicy = new LinearRetry(TimeSpan.FromMilliseconds(1), 3) };

    [Fact]
    public async Task A_busy_store_is_asked_again()
    {
        var wire = Wire.Busy(2, inner: false);
        await Through(wire).ExecuteAsync(TableOperation.Insert(new TableEntity(partition, "r")), Repeating, null);
        Assert.Equal(3, wire.Calls.Count);
    }

    [Fact]
    public async Task A_read_fails_over_to_the_secondary()
    {
        await table.ExecuteAsync(TableOperation.Insert(new TableEntity(partition, "r")));
        var options = Repeating;
        options.LocationMode = LocationMode.PrimaryThenSecondary;
        var wire = Wire.WithoutPrimary(inner: false);
        var client = new CloudTableClient(new StorageUri(Stores.Tables, Stores.SecondaryOf(Stores.Tables)), new StorageCredentials(Stores.Account, Stores.Key),
            new TableClientConfiguration { RestExecutorConfiguration = new RestExecutorConfiguration { DelegatingHandler = wire } });
        var read = await client.GetTableReference(table.Name).ExecuteAsync(TableOperation.Retrieve(partition, "r"), options, null);
        Assert.Equal(200, read.HttpStatusCode);
    }

    [Fact]
    public async Task The_dialect_is_that_of_this_SDK()
    {
        var wire = new Wire(inner: false);
        var client = Through(wire);
        await client.ExecuteAsync(TableOperation.Insert(new TableEntity(partition, "r")));
        await client.ExecuteAsync(TableOperation.Merge(new TableEntity(partition, "r") { ETag = "*" }));
        Assert.Equal(["2017-07-29", "2017-07-29"], wire.Calls.Select(call => call.Version));
        Assert.Equal("MERGE", wire.Calls[1].Headers.TryGetValue("X-HTTP-Method", out var method) ? method : wire.Calls[1].Method.Method);
    }

    [Fact]
    public async Task A_wrong_key()
    {
        var client = new CloudTableClient(Stores.Tables, new StorageCredentials(Stores.Account, Convert.ToBase64String(new byte[64])));
        var error = await Assert.ThrowsAsync<StorageException>(() => client.GetTableReference(table.Name).ExecuteAsync(TableOperation.Insert(new TableEntity("p", "r"))));
        Assert.Equal((int)HttpStatusCode.Forbidden, error.RequestInformation.HttpStatusCode);
    }

    [Fact]
    public async Task NaN_and_infinity_become_strings()
    {
        // This SDK sends them without their type; WindowsAzure.Storage does not.
        var entity = new DynamicTableEntity(partition, "r");
        entity.Properties["N"] = new EntityProperty(double.NaN);
        entity.Properties["I"] = new EntityProperty(double.NegativeInfinity);
        await table.ExecuteAsync(TableOperation.Insert(entity));
        var read = (DynamicTableEntity)(await table.ExecuteAsync(TableOperation.Retrieve(partition, "r"))).Result;
        Assert.Equal(("NaN", "-Infinity"), (read.Properties["N"].StringValue, read.Properties["I"].StringValue));
    }
}
